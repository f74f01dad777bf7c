"""Problem 0: its page gives every ceiling that its text names, from samples of three processes."""

import pytest

from harness.analysis.claims import judge
from harness.analysis.metrics import Metrics
from harness.evidence import provenance
from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.worklog import render
from tests.support.paths import ROOT
from tests.support.reports import KEPT
from tests.support.small_evidence import Row, ceiling, tables

PROVENANCE = KEPT / "evidence"
RATES = {"bf16": 790.0, "bf16_sustained": 700.0, "h2d_pinned": 55.0, "h2d_pageable": 12.0}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ROOT / "problems", "0")


def test_the_page_gives_the_ceilings_beside_the_datasheet(problem: Problem) -> None:
    cells: list[Row] = []
    samples: list[Row] = []
    for number in range(3):
        name = f"all.all.timing.r{number}"
        about: Row = {"variant": "all", "case": "all", "capture": "timing", "round": number}
        cells.append({"cell": name, **about, "status": "ok", "doubt": "", "retried": ""})
        samples += [
            {"cell": name, "region": "ceilings", "metric": str(metric.sample), "mark": ""}
            | {
                "index": index,
                "value": RATES.get(metric_name, 10.0) + 0.01 * index + 0.001 * number,
            }
            for metric_name, metric in problem.metrics.items()
            for index in range(20)
        ]
    rates = {"bf16": 790.0, "dram_read": 4400.0}
    evidence = tables(
        cells=cells, samples=samples, ceilings=[ceiling("GPU-1", *rate) for rate in rates.items()]
    )
    metrics = Metrics(problem, evidence)
    results = judge(problem, metrics, "cuda")
    assert {result.claim.id: result.verdict for result in results} == {
        "rests-raise-clocks": "reproduced",
        "pinned-faster": "reproduced",
    }
    page = Page(problem, metrics, results, provenance.load(PROVENANCE), evidence)
    text = render(problem.folder / "worklog.md.j2", page)
    assert "not measured" not in text
    assert "multiplies bf16 matrices at 790" in text
    assert "GB/s" in text and "TFLOP/s" in text
