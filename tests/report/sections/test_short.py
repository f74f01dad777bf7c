"""The page of a short run or of a CPU: what it judges, and where the rest is judged."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.claims import judge
from harness.evidence.provenance import EvidenceProvenance, RunArguments
from harness.problem.fields import Device
from harness.problem.manifest import load
from harness.problem.model import Problem
from harness.problem.state import state
from harness.report import publish
from harness.report.page import Page
from harness.report.sections import elsewhere as beyond
from harness.report.sections import short
from harness.report.sections.claims import verdict_line
from harness.report.worklog import render
from tests.support.manifests import GOOD, written
from tests.support.pages import cell_provenance, page, rows_of
from tests.support.small_evidence import cell, samples, tables

MORE = """\
    headline: true
  - {id: on-gpu, statement: Needs one., metric: time, of: {variant: fast, case: small},
     bound: {above: 0}, needs: cuda, headline: true}
  - {id: more, statement: Fast takes time., metric: time, of: {variant: fast, case: small},
     bound: {above: 0}}
"""

ADVICE = """\
    headline: true
  - {id: do, kind: advice, statement: Take fast., metric: time, take: fast, instead_of: slow,
     at: [small], holds_for: "small", headline: true}
"""


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load(written(tmp_path, GOOD + MORE))


def of_run(
    problem: Problem, *fast_ms: float, device: Device = "cuda", is_short: bool = True
) -> Page:
    """Return a page on one process for each time of ``fast``; ``slow`` takes 2 ms."""
    rounds = [(cell("slow", number), cell("fast", number)) for number in range(len(fast_ms))]
    rows = [
        row
        for (slow, fast), value in zip(rounds, fast_ms, strict=True)
        for row in (*samples(slow, "wall_time", 2.0), *samples(fast, "wall_time", value))
    ]
    cells = [place for places in rounds for place in places]
    shown = page(problem, tables(cells=cells, samples=rows))
    names = tuple(place["cell"] for place in cells)
    target = shown.target.model_copy(update={"device": device})
    run = shown.provenance.run.model_copy(
        update={"target": target, "arguments": RunArguments(short=is_short, planned=names)}
    )
    origin = EvidenceProvenance(run=run, cells=tuple(cell_provenance(name, None) for name in names))
    results = judge(problem, shown.metrics, device)
    return replace(shown, provenance=origin, results=results)


def listed(text: str) -> list[str]:
    return re.findall(r"^- `([\w-]+)`", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("device", "is_short", "judged", "elsewhere", "left_out"),
    [
        ("cuda", True, 2, [], ["more"]),
        ("cuda", False, 3, [], []),
        ("cpu", True, 1, ["on-gpu"], ["more"]),
        ("cpu", False, 2, ["on-gpu"], []),
    ],
)
def test_each_claim_stands_in_one_place(
    problem: Problem,
    device: Device,
    is_short: bool,
    judged: int,
    elsewhere: list[str],
    left_out: list[str],
) -> None:
    shown = of_run(problem, 1.0, 1.0, 1.0, device=device, is_short=is_short)
    head, *rows = rows_of(short.judged(shown))
    assert (head, len(rows)) == (["statement", "measured", "bound", "verdict"], judged)
    assert listed(beyond.elsewhere(shown)) == elsewhere
    assert listed(beyond.left_out(shown)) == left_out
    assert f"({judged} of {judged} tested claims reproduced)" in verdict_line(shown)


@pytest.mark.parametrize(
    ("fast_ms", "measured"),
    [((1.0, 1.0, 1.0), "0.5×"), ((0.1, 2.0, 40.0), "not steady here"), ((1.0,), "0.5×")],
)
def test_an_interval_that_says_nothing_is_not_printed(
    problem: Problem, fast_ms: tuple[float, ...], measured: str
) -> None:
    _, (_, value, bound, _), *_ = rows_of(short.judged(of_run(problem, *fast_ms)))
    assert (value, bound.partition(",")[0]) == (measured, "≤ 1×")


def test_the_page_says_of_what_run_it_is(problem: Problem) -> None:
    assert "a short run: its 4 cells decide the headline claims." in short.asked(
        of_run(problem, 1.0, 1.0)
    )
    on_cpu = short.asked(of_run(problem, 1.0, device="cpu", is_short=False))
    assert "a run on a CPU, at small shapes: it judges the claims that need no GPU." in on_cpu


def test_without_advice_there_is_no_table_of_it(problem: Problem) -> None:
    assert short.advised(of_run(problem, 1.0)) == ""


def test_an_unfinished_run_says_how_far_it_got(problem: Problem) -> None:
    shown = of_run(problem, 1.0, 1.0)
    assert "Unfinished" not in verdict_line(shown)
    half = shown.provenance.model_copy(update={"cells": shown.provenance.cells[:1]})
    assert "**Unfinished: 1 of 4 cells were run, and the study has 10.**" in verdict_line(
        replace(shown, provenance=half)
    )
    others = (f"cell {number}" for number in range(9))
    arguments = RunArguments(planned=(half.cells[0].cell, *others))
    of_all = half.run.model_copy(update={"arguments": arguments})
    line = verdict_line(replace(shown, provenance=half.model_copy(update={"run": of_all})))
    assert "**Unfinished: 1 of 10 cells were run.**" in line


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({}, ""),
        ({"repro.py": "0", "case small": "0"}, "repro.py and case small changed."),
        ({"gone.cuh": "0"}, "gone.cuh changed."),
        (
            {f"{name}.cu": "0" for name in "abcdef"},
            "a.cu, b.cu, c.cu, d.cu and 2 more changed.",
        ),
    ],
)
def test_a_page_says_what_changed_since_its_run(
    problem: Problem, before: dict[str, str], said: str
) -> None:
    shown = of_run(problem, 1.0, 1.0)
    run = shown.provenance.run.model_copy(update={"state": state(problem) | before})
    line = verdict_line(replace(shown, provenance=shown.provenance.model_copy(update={"run": run})))
    if said:
        assert f" **Stale: since this run {said} Numbers are from the run; the text" in line
    else:
        assert "Stale" not in line


def test_a_page_of_an_earlier_harness_knows_the_bytes_of_the_scripts_at_most(
    problem: Problem,
) -> None:
    shown = of_run(problem, 1.0, 1.0)
    assert "Stale" not in verdict_line(shown)
    run = shown.provenance.run.model_copy(update={"sources_sha256": "0" * 64})
    line = verdict_line(replace(shown, provenance=shown.provenance.model_copy(update={"run": run})))
    assert "since this run the scripts changed." in line


def test_advice_of_a_short_run_is_a_table(tmp_path: Path) -> None:
    problem = load(written(tmp_path, GOOD + ADVICE))
    text = short.advised(of_run(problem, 1.0, 1.0, 1.0))
    head, row = rows_of(text)
    assert (head[0], row[0]) == ("do this", "Take fast.")


@pytest.mark.parametrize(("device", "is_short"), [("cpu", True), ("cpu", False), ("cuda", True)])
def test_the_whole_page_holds_no_half_sentence(
    problem: Problem, device: Device, is_short: bool
) -> None:
    shown = of_run(problem, 1.0, 1.0, 1.0, device=device, is_short=is_short)
    text = render(publish.SHORT, shown)
    count = "1 claim" if is_short else "2 claims"
    title = f"Checked here: {count}, on a GPU" if device == "cpu" else "Reproduced on a GPU"
    assert text.startswith(f"# A title\n\n**{title}** (")
    assert "not measured" not in text
    assert ("## What needs a GPU" in text) == (device == "cpu")
    assert ("## What needs the full run" in text) == is_short
    assert "## What to do" not in text


COUNTED = GOOD.replace("sample: wall_time}", "fact: calls}").replace("unit: ms", "unit: calls")


def test_what_was_counted_on_a_cpu_is_called_structure_and_memory(tmp_path: Path) -> None:
    shown = of_run(load(written(tmp_path, COUNTED)), 1.0, device="cpu", is_short=False)
    assert verdict_line(shown).startswith("**Checked here: structure and memory of 1 claim, on a")


def test_beside_a_report_of_a_gpu_its_values_stand_with_a_link_to_it(problem: Problem) -> None:
    gpu = replace(of_run(problem, 1.0, 1.0, 1.0), folder=Path("reports/9-example/some-gpu"))
    shown = replace(of_run(problem, 3.0, 3.0, 3.0, device="cpu"), reference=gpu)
    text = beyond.elsewhere(shown)
    assert text.startswith("Nothing in this section was measured here")
    assert "[a GPU](../some-gpu/README.md)" in text
    head, *rows = rows_of(text)
    assert head == ["claim", "on a GPU", "bound", "verdict there"]
    assert [row[0].partition(":")[0] for row in rows] == ["`on-gpu`"]
    assert rows[0][1] == "1 ms"  # the GPU's, not the 3 ms of this run
    assert listed(text) == []
