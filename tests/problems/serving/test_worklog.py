"""The worklog on planted measurements: all of it is told, and no sentence outlives its claim."""

import re

import pytest

from harness.analysis import bisection
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.report.worklog import render
from tests.support import conclusions, planted_study
from tests.support.serving_study import FOLDER
from tests.support.small_evidence import Row, tables

pytestmark = pytest.mark.slow

TEMPLATE = FOLDER / "worklog.md.j2"
MS = 1_000_000
TOKENS = 40

ITL_MS = {
    "vllm": 8.5,
    "sglang": 8.6,
    "generate": 60,
    "generate-batch": 93,
    "generate-no-cudnn": 22,
    "generate-any-length": 24,
    "generate-batch-no-cudnn": 60,
    "static": 14,
    "static-16": 30,
    "continuous": 13,
    "paged": 12,
    "chunked": 11,
    "graphs": 9,
    "ahead": 8,
    "fused": 7.5,
    "prefixes": 7,
    "offload": 6.5,
    "whole": 8,
    "budget-1056": 8.1,
    "budget-544": 8.2,
    "budget-160": 8.4,
    "mixed-160": 8.3,
}
RAGGED_MS = {"static": 20, "continuous": 12}
VERSIONS_MS = {"generate-no-cudnn": 5, "generate-4.51.3-no-cudnn": 6, "generate-4.52.4-no-cudnn": 6}
VERSIONS_MS |= {"generate-4.53.0-no-cudnn": 12, "generate-4.55.4-no-cudnn": 12}
DURING_MS = {"whole": 566, "ahead": 97, "budget-1056": 53, "budget-544": 34, "budget-160": 27}
DURING_MS["mixed-160"] = 12
STEP_MS = {"eager": 12.0, "graphs": 9.0, "ahead": 8.0, "fused": 6.0}
GPU_MS, FLOOR_MS = 5.9, 5.5


def itl_ms(planned: Cell) -> float:
    own = {"ragged": RAGGED_MS, "versions": VERSIONS_MS}.get(planned.case, {})
    return own[planned.variant] if planned.variant in own else ITL_MS[planned.variant]


def recorded(cell: str, planned: Cell) -> dict[str, list[Row]]:
    """Return the tables of a load of two requests, whose tokens come at even times."""
    gap = round(itl_ms(planned) * MS)
    first = gap * (5 if planned.variant in ("prefixes", "offload") else 20)
    end = first + (TOKENS - 1) * gap
    of = {"cell": cell}
    run: Row = {"what": "planted", "end_ns": end, "ttft_slo_ns": 450 * MS, "itl_slo_ns": 40 * MS}
    life: Row = {"due_ns": 0, "admitted_ns": first // 2, "first_ns": first, "ended_ns": end}
    life |= {"prompt_tokens": 16, "output_tokens": TOKENS, "mark": ""}
    times = range(first, end + 1, gap)
    step: Row = {"start_ns": 0, "duration_ns": gap, "kind": "decode", "kv_blocks": 90}
    return {
        "load_runs": [of | run | {"kv_blocks": 100}],
        "load_requests": [of | life | {"request": at} for at in range(2)],
        "load_tokens": [of | {"request": at, "time_ns": t} for at in range(2) for t in times],
        "load_steps": [of | step],
    }


def of_load(planned: Cell) -> dict[str, float]:
    """Return the facts of a cell that serves."""
    facts = {"prompt_tokens": 16600.0}
    if planned.params["engine"] == "ours":
        steps = {"static": 661, "continuous": 442}.get(planned.variant, 500)
        facts |= {"steps": steps + 9, "decode_steps": steps, "decode_batch": 31.0}
        facts |= {"kv_unused": 3.0, "preemptions": 25, "padded": 4.0}
    if planned.case == "beside":
        during = DURING_MS[planned.variant]
        facts |= {"itl_before_ms": 7.5, "itl_during_ms": during, "itl_over": during / 7.5}
        facts |= {"long_ttft_ms": 1900, "predicted_ms": 1.1 * during, "law_error": 10.0}
        facts |= {"decode_ms": 7.2, "token_us": 31.0, "pair_ns": 0.4}
    return facts


def of_decode(batches: list[int]) -> dict[tuple[str, str], float]:
    """Return the samples of the contenders by region and metric."""
    found = {("memory", "gb_s"): 3000.0}
    for name, ms in STEP_MS.items():
        for batch in batches:
            region = f"{name}-b{batch}"
            found |= {(region, "step_ms"): ms, (region, "host_ms"): ms / 2}
            if name != "eager":
                found |= {(region, "gpu_ms"): GPU_MS, (region, "floor_ms"): FLOOR_MS}
                found |= {(region, "over_floor"): GPU_MS / FLOOR_MS}
                found |= {(region, "bubble"): 100 * (1 - GPU_MS / ms)}
    return found


def stated(planned: Cell) -> dict[str, float]:
    """Return the facts of a cell under timing."""
    if planned.case == "pool":
        regions = ["-".join(map(str, batches)) for batches in planned.params["sets"]]
        values = {"pool_mib": 70.0, "predicted_mib": 72.0}
        return {f"{name}.{region}": values[name] for name in values for region in regions}
    return {"tied": 2, "differing.worst": 0} if planned.case.startswith("tokens") else {}


@pytest.fixture(scope="module")
def evidence(problem: Problem) -> Tables:
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": []}
    for planned in plan(problem, Selected(), "cuda"):
        found["cells"].append(planted_study.cell(planned))
        facts: dict[str, float] = {}
        if planned.capture == "load":
            facts = of_load(planned)
            for table, rows in recorded(planned.name, planned).items():
                found.setdefault(table, []).extend(rows)
        if planned.capture == "timing":
            facts = stated(planned)
            batches = planned.params.get("batches", [])
            for (region, metric), value in (of_decode(batches) if batches else {}).items():
                found["samples"] += planted_study.samples(planned, region, metric, [value] * 15)
        found["facts"] += planted_study.facts(planned, facts)
    return tables(**found)


def test_everything_that_was_measured_is_told(problem: Problem, evidence: Tables) -> None:
    page = planted_study.page_of(problem, evidence)
    wrong = {one.claim.id: one.verdict for one in page.results if one.verdict != "reproduced"}
    assert wrong == {}
    text = render(TEMPLATE, page)
    missing = [line for line in text.splitlines() if "not measured" in line.lower()]
    assert len(missing) <= 7, missing


def test_bisecting_finds_the_release_that_is_slower(problem: Problem, evidence: Tables) -> None:
    names = [name for name in problem.variants if problem.covers("load", name, "versions", "cuda")]
    metrics = Metrics(problem, evidence)

    def ratio(of: str, over: str) -> Measured:
        return metrics.ratio(("itl_p50", of, "versions"), ("itl_p50", over, "versions"))

    for among in (names, [name for name in names if name != "generate-no-cudnn"]):
        found = bisection.change(among, lambda _: None, ratio)
        assert (found.before, found.after) == (
            "generate-4.52.4-no-cudnn",
            "generate-4.53.0-no-cudnn",
        )
        assert found.is_told


def test_it_renders_where_nothing_was_measured(problem: Problem) -> None:
    text = render(TEMPLATE, planted_study.page_of(problem, tables()))
    assert not re.search(r"\d\s?(×|tokens/s|GB/s)", text.split("\n## Claims")[0])
    assert "not measured" in text


def test_no_sentence_concludes_what_its_claim_does_not_bear_out(
    problem: Problem, evidence: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = planted_study.page_of(problem, evidence)
    silenced = ("gpu_timeline", "request_timeline", "variants", "regions", "conditions")
    blocks = conclusions.blocks(TEMPLATE, page, monkeypatch, silenced)
    conclusions.assert_each_follows_its_claims(TEMPLATE, page, blocks)
