"""Claims on a page: the first line counts verdicts, the table shows bound, value and doubt."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from harness.analysis.claims import judge
from harness.problem import started
from harness.problem.model import Bound, Problem
from harness.report import verdicts
from harness.report.page import Page
from harness.report.sections import claims
from tests.support.pages import page, rows_of
from tests.support.small_evidence import cell, samples, tables


def judged(problem: Problem, slow_ms: float, fast_ms: float, **of_cells: Any) -> Page:
    """Return a page on three rounds of each variant, with its claims judged."""
    timed = {
        variant: [cell(variant, number, **of_cells) for number in range(3)]
        for variant in ("slow", "fast")
    }
    rows = [
        row
        for variant, value in (("slow", slow_ms), ("fast", fast_ms))
        for place in timed[variant]
        for row in samples(place, "wall_time", value, value, value)
    ]
    made_of = page(problem, tables(cells=[*timed["slow"], *timed["fast"]], samples=rows))
    return replace(made_of, results=judge(problem, made_of.metrics, "cuda"))


@pytest.mark.parametrize(
    ("fast_ms", "verdict", "counts"),
    [
        (1.0, "reproduced", "**Reproduced on a GPU** (1 of 1 tested claims reproduced)"),
        (4.0, "**refuted**", "**Refuted on a GPU** (0 of 1 tested claims reproduced, 1 refuted)"),
    ],
)
def test_the_first_line_counts_what_the_table_lists(
    example: Problem, fast_ms: float, verdict: str, counts: str
) -> None:
    shown = judged(example, 2.0, fast_ms)
    assert claims.verdict_line(shown).startswith(counts)
    head, row = rows_of(claims.claims(shown))
    cells = dict(zip(head, row, strict=True))
    assert cells["verdict"] == verdict
    assert cells["bound"] == "≤ 1×, 1 % to spare"
    assert cells["measured"].startswith(f"{fast_ms / 2:g}×")
    assert cells["from"] == "small.fast.timing, small.slow.timing"


def test_a_claim_of_another_device_says_what_it_needs(example: Problem) -> None:
    (claim,) = example.claims
    of = claim.model_copy(update={"needs": "cpu"})
    head, row = rows_of(claims.claims(judged(example.model_copy(update={"claims": [of]}), 2, 1)))
    cells = dict(zip(head, row, strict=True))
    assert cells["verdict"].endswith(": needs a CPU")


def test_the_table_marks_the_claims_that_decide_the_title(example: Problem) -> None:
    (claim,) = example.claims
    for is_headline in (True, False):
        of = claim.model_copy(update={"headline": is_headline})
        shown = judged(example.model_copy(update={"claims": [of]}), 2.0, 1.0)
        assert rows_of(claims.claims(shown))[1][0].endswith(" (headline)") == is_headline


def test_a_refuted_claim_says_what_is_true_instead(example: Problem) -> None:
    (claim,) = example.claims
    otherwise = claim.model_copy(update={"otherwise": "it is slower.\n"})
    problem = example.model_copy(update={"claims": [otherwise]})
    statements = [
        rows_of(claims.claims(judged(problem, 2.0, fast_ms)))[1][1] for fast_ms in (1.0, 4.0)
    ]
    assert statements == ["Fast is faster.", "Fast is faster. In truth: it is slower."]


def test_a_doubt_stands_beside_the_verdict(example: Problem) -> None:
    shown = judged(example, 2.0, 1.0, doubt="power cap in 3 of 5 looks")
    *_, verdict, _ = rows_of(claims.claims(shown))[1]
    assert "power cap in 3 of 3 rounds" in verdict


def test_what_was_not_measured_says_why(example: Problem) -> None:
    shown = page(example, tables())
    shown = replace(shown, results=judge(example, shown.metrics, "cuda"))
    assert "1 not measured" in claims.verdict_line(shown)
    row = rows_of(claims.claims(shown))[1]
    assert row[3:5] == ["–", "not measured: fast: not run"]
    assert row[-1] == "–"


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound(above=2), "≥ 2×, 1 % to spare"),
        (Bound(between=(0.5, 1.5)), "0.5 to 1.5×, 1 % to spare"),
        (Bound(between=(3, 3)), "3×, 1 % to spare"),
    ],
)
def test_a_bound_is_in_words(example: Problem, bound: Bound, text: str) -> None:
    (claim,) = example.claims
    problem = example.model_copy(update={"claims": [claim.model_copy(update={"bound": bound})]})
    assert rows_of(claims.claims(judged(problem, 2.0, 1.0)))[1][2] == text


def test_a_study_without_claims_is_measured(example: Problem) -> None:
    line = claims.verdict_line(page(example.model_copy(update={"claims": []}), tables()))
    assert line.startswith("**Measured on a GPU** (no claims)")


@pytest.mark.parametrize(
    ("headlines", "title"),
    [
        ({"reproduced": 3}, "Reproduced"),
        ({"reproduced": 3, "described": 3}, "Reproduced where tested: 3 of 6 headlines"),
        ({"reproduced": 2, "described": 3}, "Partly tested: 2 of 5 headlines"),
        ({"reproduced": 3, "undecided": 2}, "Partly reproduced: 3 of 5 headlines"),
        ({"reproduced": 3, "tie": 1, "described": 9}, "Partly reproduced: 3 of 4 tested headlines"),
        ({"refuted": 1, "undecided": 2}, "Refuted"),
        ({"undecided": 2, "tie": 1}, "Undecided"),
        ({"described": 1, "not measured": 2}, "Described"),
        ({"not measured": 2}, "Not measured"),
        ({}, "Measured"),
    ],
)
def test_a_title_is_by_the_headline_claims_that_were_tested(
    headlines: dict[str, int], title: str
) -> None:
    assert verdicts.title(headlines) == title


def test_counts_are_of_tested_claims() -> None:
    counts = {"reproduced": 9, "refuted": 2, "tie": 1, "described": 6, "not measured": 1}
    told = "9 of 12 tested claims reproduced, 2 refuted, 1 tie; 6 described, 1 not measured"
    assert verdicts.tally(counts) == told
    assert verdicts.tally({"described": 2}) == "no claim tested; 2 described"


def test_below_the_table_stands_since_when_tested_claims_stand(example: Problem) -> None:
    shown = judged(example, 2.0, 1.0)
    assert "stand since" not in claims.claims(shown)
    begun = {
        name: claim.model_copy(update={"since": "16ee04ef 2026-11-22"})
        for name, claim in started.started(example).items()
    }
    run = shown.provenance.run.model_copy(update={"claims": begun})
    shown = replace(shown, provenance=shown.provenance.model_copy(update={"run": run}))
    line = "stand since before the run: 1 since 16ee04ef 2026-11-22.*"
    stand = f"*What tested claims compare, and their bounds, {line}"
    assert claims.claims(shown).endswith(f"\n\n{stand}")


def test_a_tested_claim_is_shown_with_the_words_that_the_run_began_with(example: Problem) -> None:
    shown = judged(example, 2.0, 1.0)
    (result,) = shown.results
    worded = replace(result, worded="Fast *was* faster.")
    told = "*When the run began:* Fast &#42;was&#42; faster."
    assert told in claims.claims(replace(shown, results=[worded]))
    assert "When the run began" not in claims.claims(shown)
    described = replace(worded, verdict="described")
    assert "When the run began" not in claims.claims(replace(shown, results=[described]))


def test_below_the_table_stands_how_many_processes_an_interval_is_of(example: Problem) -> None:
    shown = judged(example, 2.0, 1.0)
    assert "over processes (3 a cell), which decides" in claims.claims(shown)
    cells = shown.tables["cells"]
    fewer = cells.filter(~((cells["variant"] == "slow") & (cells["round"] == 0)))
    uneven = replace(shown, tables=shown.tables | {"cells": fewer})
    assert "over processes (2 to 3 a cell), which decides" in claims.claims(uneven)
    once = replace(shown, tables=shown.tables | {"cells": cells.filter(cells["round"] == 0)})
    assert "over processes, which decides" in claims.claims(once)


def test_a_claim_that_was_added_stands_since_the_call_that_measured_it(example: Problem) -> None:
    first, later = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
    known = {
        name: claim.model_copy(update={"since": "16ee04ef 2026-11-22"})
        for name, claim in started.started(example).items()
    }

    def told(began: datetime) -> str:
        shown = judged(example, 2.0, 1.0, started=began.timestamp() + 60)
        run = shown.provenance.run
        call = run.model_copy(update={"started": later.isoformat(), "claims": known})
        others = {f"not-{name}": claim for name, claim in known.items()}
        before = {"started": first.isoformat(), "claims": others, "resumed": (call,)}
        gone_on = shown.provenance.model_copy(update={"run": run.model_copy(update=before)})
        return claims.claims(replace(shown, provenance=gone_on))

    assert "stand since before the run: 1 since 16ee04ef 2026-11-22" in told(later)
    assert "stand since" not in told(first)
