"""The worklog on planted measurements of every cell: all of it is told, nothing is missing."""

import dataclasses
import importlib
import random
import re
from types import ModuleType
from typing import Any

import pytest

from harness.analysis.claims import judge
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.probe import paired
from harness.problem.model import Problem
from harness.problem.plan import Cell as Planned
from harness.problem.plan import Selected, plan
from harness.report import verdicts
from harness.report.escape import escape
from harness.report.page import Page
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support import conclusions, reports
from tests.support.hgemm import ELSEWHERE, FOLDER, Cell
from tests.support.reading import walk
from tests.support.small_evidence import Row, ceiling, tables

pytestmark = pytest.mark.slow

SLOWNESS = {
    "p": [12, 5, 4, 3, 3, 2.8, 2, 1.8, 1.75],
    "h": [2.4, 1.7, 1.4, 1.2, 1.1, 1.05, 1, 0.98, 0.99, 0.97, 1.3],
}
HOPPER = [f"h{at}" for at in range(11)]
CONCLUDES = re.compile(r"call w\.concludes\(([^)]*)\)")
NOT_PLANTED = {
    "*Not measured on this target.*",
    "*GPU timeline of one step of torch and best: not measured on this target.*",
}
ALSO = {
    "gpu__time_duration.sum": "ns",
    "dram__bytes_read.sum": "byte",
    "dram__bytes_write.sum": "byte",
}


def slowness(name: str) -> float:
    """How many times torch's time a contender takes."""
    known = {"torch": 1.0, "cublaslt": 0.99, "fp32": 9.0, "best": 0.97, "waiting": 0.98}
    return known[name] if name in known else SLOWNESS[name[0]][int(name[1:])]


@pytest.fixture
def play(contest: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    draw = random.Random(4)

    def interleaved(
        runs: Any, _sets: Any, turns: int, _monitor: Any, _clock: Any, _batch_ms: float
    ) -> dict[str, paired.Turns]:
        clock = [1 + 0.05 * draw.random() for _ in range(turns)]
        return {
            name: paired.Turns(
                name,
                us=[180 * slowness(name) * turn * (1 + 0.002 * draw.random()) for turn in clock],
                mhz=[1900 / turn for turn in clock],
                nvml_mhz=[1905 / turn for turn in clock],
                watt=[650 + draw.random() for _ in clock],
            )
            for name in runs
        }

    monkeypatch.setattr(contest, "interleaved", interleaved)
    return contest


def workload(contest: ModuleType, planned: Planned) -> Cell:
    """Return what a cell states and samples; the layers' own are made up."""
    cell = Cell(planned.params)
    if planned.params["workload"] == "sizes":
        contest.sizes(cell)
    elif planned.params["workload"] == "sanitize":
        importlib.import_module("sanitize").cell(cell)
    elif planned.params["workload"] in ELSEWHERE:
        module, name = ELSEWHERE[planned.params["workload"]]
        getattr(importlib.import_module(module), name)(cell)
    elif planned.params["workload"] == "square":
        (contest.square if planned.params["contender"] == "all" else contest.alone)(cell)
    else:
        slower = slowness(planned.params["contender"])
        cell.fact("error", 0.002)
        cell.sample("forward", "wall_ratio", "×", [slower] * 9)
        for metric, value in (("gpu_time", 0.2), ("wall_time", 0.4), ("latency", 0.5)):
            cell.sample("forward", metric, "ms", [value * slower] * 9)
    return cell


def counters(problem: Problem, planned: Planned, name: str) -> list[Row]:
    """Return a launch with every counter that the manifest knows."""
    wanted = {one.counter: "" for one in problem.metrics.values() if one.counter} | ALSO
    about = {"cell": name, "launch": 0, "name": planned.variant, "grid": "1,1,1", "block": "1,1,1"}
    return [
        about | {"metric": metric, "unit": unit, "value": 1e5 * slowness(planned.variant)}
        for metric, unit in wanted.items()
    ]


@pytest.fixture
def evidence(play: ModuleType, problem: Problem) -> Tables:
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": [], "counters": []}
    for planned in plan(problem, Selected(rounds=3), "cuda"):
        name = f"{planned.case}.{planned.variant}.{planned.capture}.r{planned.round}"
        known = {key: getattr(planned, key) for key in ("variant", "case", "capture", "round")}
        well = {"status": "ok", "doubt": "power cap in 30 of 31 looks", "retried": ""}
        seen = {"sm_mhz": 1755.0, "sm_mhz_min": 1500.0, "sm_mhz_max": 1980.0}
        found["cells"].append({"cell": name, **known, **well, **seen})
        cell = workload(play, planned)
        for fact, value in cell.facts.items():
            text = isinstance(value, str)
            row = {"cell": name, "name": fact, "text": value if text else None}
            found["facts"].append(row | {"value": None if text else float(value)})
        for (region, metric), values in cell.samples.items():
            about = {"cell": name, "region": region, "metric": metric, "mark": ""}
            found["samples"] += [
                about | {"index": index, "value": value} for index, value in enumerate(values)
            ]
        if planned.capture == "ncu":
            found["counters"] += counters(problem, planned, name)
    rates = {"bf16": 790.0, "dram_read": 4400.0, "dram_copy": 4200.0}
    return tables(**found, ceilings=[ceiling("GPU-1", *rate) for rate in rates.items()])


@pytest.fixture(scope="module")
def kept() -> list[Page]:
    """The page, once a test has made it: its metrics are computed once for all templates."""
    return []


@pytest.fixture
def page(problem: Problem, kept: list[Page], request: pytest.FixtureRequest) -> Page:
    if not kept:
        evidence: Tables = request.getfixturevalue("evidence")
        metrics = Metrics(problem, evidence)
        judged = judge(problem, metrics, "cuda")
        kept.append(Page(problem, metrics, judged, reports.of_unknown_scripts(), evidence))
    return dataclasses.replace(kept[0], figures={})


def missing(text: str) -> list[str]:
    """Return the lines that lack a value: sampled instructions and timelines were not planted."""
    lines = [line for line in text.splitlines() if "not measured" in line.lower()]
    return [line for line in lines if "Published" not in line and line not in NOT_PLANTED]


def test_everything_is_told(page: Page) -> None:
    text = render(FOLDER / "worklog.md.j2", page)
    assert missing(text) == swallowed(text) == []
    verdict = {one.claim.id: one.verdict for one in page.results}
    # Ratios of one process stand although every cell was at the power cap.
    assert verdict["goal-4096"] == verdict["goal-sizes"] == verdict["h0-slower"] == "reproduced"
    assert verdict["hgemm-4096-rows"] == "tie"  # compiled, the kernels are planted as fast
    assert verdict["memcheck"] == verdict["racecheck"] == "reproduced"
    assert "not measured" not in verdict.values()
    table = text.split("## The ladder")[1].split("##")[0]
    assert re.search(r"^\| torch\.mm \| \| 7\d\d(\.\d)? TFLOP/s \|", table, re.M)
    steps = re.findall(r"^\| \[(\w+)\]\(pages/(\w+)\.md\) \| .* TFLOP/s \| [\d.]+% \|", table, re.M)
    assert steps == [(step, step) for step in [f"p{at}" for at in range(9)] + HOPPER]
    assert set(page.figures) == {"ladder-4096.svg", "stages.svg", "tile-walk.svg"}
    assert all("NaN" not in svg for svg in page.figures.values())


def swallowed(text: str) -> list[str]:
    """Return the lines that follow a table without a blank one, and so become a row of it."""
    return re.findall(r"^\|.*\|\n(?!\||$)(.+)", text, re.M)


@pytest.mark.parametrize("step", [f"p{at}" for at in range(9)] + HOPPER)
def test_each_step_has_a_page_with_its_code_and_its_counters(page: Page, step: str) -> None:
    text = render(FOLDER / "pages" / f"{step}.md.j2", dataclasses.replace(page, root="../"))
    assert text.startswith(f"# {step}: ")
    assert missing(text) == swallowed(text) == []
    assert f"({'../' * 4}problems/4-custom-hgemm/kernels/" in text
    assert "```cuda" in text
    assert "| tensor pipe active |" in text


def test_a_page_tells_of_8_bit_operands(page: Page) -> None:
    text = render(FOLDER / "pages" / "f0.md.j2", dataclasses.replace(page, root="../"))
    assert missing(text) == swallowed(text) == []
    assert "promote(sums, part, now);" in text
    rows = re.findall(r"^\| (\d+x\d+x\d+) \| ", text, re.M)
    assert rows[:2] == ["4096x4096x4096", "8192x8192x8192"] and "| geomean |" in text


@pytest.mark.parametrize("verdict", ["refuted", "undecided", "not measured"])
def test_no_page_concludes_what_its_claim_does_not_bear_out(
    problem: Problem, page: Page, verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "concludes", conclusions.recorded)
    flipped = [dataclasses.replace(result, verdict=verdict) for result in page.results]
    pages = [FOLDER / "worklog.md.j2", *sorted((FOLDER / "pages").glob("*.md.j2"))]
    for template in pages:
        known = {result.claim.id for result in page.results}
        named = set(re.findall(r'"([\w-]+)"', " ".join(CONCLUDES.findall(template.read_text()))))
        assert named <= known
        conclusions.RENDERED.clear()
        told = render(template, dataclasses.replace(page, results=flipped, figures={}))
        blocks = [block.body for block in conclusions.RENDERED if block.body]
        assert [body for body in blocks if body in told] == []
        told = walk(told)  # the claims' table
        for result in flipped:
            claim = result.claim
            if claim.id not in named or verdict == "not measured":  # said by the claims' table
                continue
            if verdict == "refuted" and claim.otherwise:
                expected = claim.otherwise
            else:
                finding = escape(verdicts.finding(problem, result))
                expected = f"[{verdict.capitalize()}](#{claim.id}): {finding}"
            assert expected.rstrip(".")[1:] in told, (template.name, claim.id)
