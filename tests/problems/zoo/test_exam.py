"""The exam of the diagnosis: on launches that tests keep, and on each committed report of it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from harness.analysis.diagnose.finding import ABSTAIN, HEALTHY
from harness.analysis.metrics import Metrics
from harness.problem.manifest import find
from harness.report import publish
from tests.support import kept_launches
from tests.support.exams import ZOO
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED

pytestmark = pytest.mark.slow

exam = ZOO.grading
REPORTS = [folder for folder in COMMITTED if folder.parent.name == "6-bottleneck-zoo"]
KEPT = "kept launches"
LEAST_RIGHT = 0.95
MOST_ERROR = 0.25
ALARMS = {
    # Four streams of scans start and end one by one: then the grid of one runs, which is small.
    "stream-serialised-events": "small-grid",
    # The host needs longer to launch sparse updates than the GPU to make them.
    "optimizer-bound-tables": "host-bound",
}
"""Twins of the H200's report that are not healthy, and what is named in them."""
LESS_TOLD = {
    # Of a grid that is not recorded only the time is known, and the kernel fills it.
    "grids on the timeline": {HEALTHY},
    # The host waits for the copy; of what memory it copies to is not known.
    "what memory a copy reads": {"host-sync"},
}
"""Other names of the H200's report where evidence is missing; they hold there, and say less."""


@dataclass(frozen=True)
class Examined:
    """The answers to all cases, and what is named without pieces of evidence, by case.

    ``cases`` are those that were run: a specimen that is younger than a report is not in it.
    """

    answers: list[Any]
    degraded: dict[str, list[str]]
    cases: set[str]


def kept() -> Examined:
    answers, degraded = [], {}
    for case, planted in kept_launches.SICK.items():
        sick, healthy = (kept_launches.capture(f"{case}.{twin}") for twin in ("sick", "healthy"))
        slow, fast = map(kernel_time, (sick.tables["counters"], healthy.tables["counters"]))
        answer = exam.graded(case, planted, [sick], [healthy])
        answers.append(replace(answer, gained=1 - fast / slow))
        named = exam.without_pieces([sick]).values()
        degraded[case] = [exam.RIGHT if each == planted else each for each in named]
    return Examined(answers, degraded, set(kept_launches.SICK))


def of_report(folder: Path) -> Examined:
    page = publish.page_of(find(ROOT / "problems", "6"), folder)
    metrics: Metrics = page.metrics
    ran = set(page.tables["cells"]["case"])
    answers, degraded = (made(page.problem, metrics) for made in (exam.answers, exam.degraded))
    return Examined(answers, degraded, ran)


def kernel_time(counters: pl.DataFrame) -> float:
    return float(counters.filter(pl.col("metric") == "gpu__time_duration.sum")["value"].sum())


@cache
def examined(which: str) -> Examined:
    report = next((each for each in REPORTS if each.name == which), None)
    return kept() if report is None else of_report(report)


def errors(answers: list[Any]) -> Iterator[float]:
    for each in answers:
        if each.predicted is not None and each.gained and not each.is_bound:
            yield abs(each.predicted - each.gained) / each.gained


EXAMS = pytest.mark.parametrize("which", [KEPT, *(each.name for each in REPORTS)])


@EXAMS
def test_what_was_planted_is_named_first(which: str) -> None:
    answers, cases = examined(which).answers, examined(which).cases
    assert {each.case for each in answers} == cases
    missed = {each.case: each.named[:2] for each in answers if not each.right}
    assert len(missed) <= (1 - LEAST_RIGHT) * len(answers), missed


@EXAMS
def test_no_healthy_twin_gets_an_alarm(which: str) -> None:
    answers = examined(which).answers
    assert {each.case: each.of_twin[0] for each in answers if each.false_alarm} == (
        {} if which == KEPT else ALARMS
    )


@EXAMS
def test_foretold_gains_are_those_of_the_twins(which: str) -> None:
    assert median(errors(examined(which).answers)) <= MOST_ERROR


@EXAMS
def test_less_evidence_leads_to_no_other_name(which: str) -> None:
    named = {place: set(ids) for place, ids in examined(which).degraded.items()}
    assert named
    wrong = {place: ids - {exam.RIGHT, exam.BROADER, ABSTAIN} for place, ids in named.items()}
    assert {place: ids for place, ids in wrong.items() if ids} == (
        {} if which == KEPT else LESS_TOLD
    )
