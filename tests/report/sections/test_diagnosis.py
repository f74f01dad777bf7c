"""What the diagnosis said, on a page: the numbers of ``harness diagnose``, as Markdown."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude
from harness.evidence.capture import Capture
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.sections.diagnosis import diagnosed, diagnosis
from tests.support.exams import CASES, captured, program, zoo
from tests.support.pages import page
from tests.support.small_evidence import tables

TOOK = {(case, "sick"): 4.0 for case in CASES} | {(case, "healthy"): 2.0 for case in CASES}


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return zoo(tmp_path)


@pytest.fixture
def measured(problem: Problem) -> Page:
    return page(problem, captured(TOOK))


def test_the_first_finding_is_that_of_the_capture(measured: Page) -> None:
    run = Capture("made", program("waits", sick=True).tables(), {}, "nsys")
    (first, *_) = conclude.diagnose([run]).findings
    assert first.id == "host-sync"
    shown = diagnosis(measured, "sick", "waits", 1)
    assert shown.startswith(f"1. {first.title} **host-sync**, timeline: device 0;")
    assert f"explains {100 * (first.share or 0):.1f} % of the time" in shown
    assert f"   - {first.evidence[0].metric}: " in shown


def test_only_so_many_findings_are_shown_and_the_rest_counted(measured: Page) -> None:
    run = Capture("made", program("copies", sick=True).tables(), {}, "nsys")
    others = len(conclude.diagnose([run]).findings) - 1
    shown = diagnosis(measured, "sick", "copies", 1)
    assert "\n2. " not in shown
    assert ("more finding" in shown) == (others > 0)


def test_one_diagnosis_serves_all_that_show_it(
    measured: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [diagnosis(measured, twin, "waits") for twin in ("sick", "healthy")]
    monkeypatch.setattr(conclude, "diagnose", None)
    sub_page = replace(measured, root="../")
    assert [diagnosis(sub_page, twin, "waits") for twin in ("sick", "healthy")] == both


def test_without_captures_nothing_is_said(problem: Problem) -> None:
    empty = page(problem, tables())
    assert not diagnosed(empty, "waits")
    assert diagnosis(empty, "sick", "waits") == (
        "*The diagnosis, sick: not measured on this target.*"
    )
