"""The exam of the diagnosis: what counts as right, as a false alarm, and as a gain."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.metrics import Metrics
from harness.problem.model import Problem
from harness.report.chart import FONT, GAP
from tests.support.exams import CASES, ZOO, captured, zoo
from tests.support.pages import page, rows_of

exam, exam_gains = ZOO.grading, ZOO.exam_gains
Answer = exam.Answer

TOOK = {(case, "sick"): 4.0 for case in CASES} | {(case, "healthy"): 3.0 for case in CASES}


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return zoo(tmp_path)


def test_what_was_planted_is_named_or_not(problem: Problem) -> None:
    answers = {
        answer.case: answer for answer in exam.answers(problem, Metrics(problem, captured(TOOK)))
    }
    assert list(answers) == list(CASES)
    assert {case: answer.right for case, answer in answers.items()} == {
        "waits": True,
        "copies": True,
        "mislabelled": False,
    }
    assert answers["mislabelled"].named[0] == "pageable-copy"
    assert not any(answer.false_alarm for answer in answers.values())


def test_a_gain_is_that_of_the_twin_and_a_prediction_that_of_the_planted(problem: Problem) -> None:
    took = TOOK | {("waits", "healthy"): 1.0}
    answers = {
        answer.case: answer for answer in exam.answers(problem, Metrics(problem, captured(took)))
    }
    assert answers["waits"].gained == pytest.approx(0.75)
    assert answers["copies"].gained == pytest.approx(0.25)
    predicted = answers["copies"].predicted
    assert predicted is not None
    assert 0.3 < predicted < 0.8  # of 3 ms a turn, at most 2 are the copy
    assert answers["mislabelled"].predicted is None


def test_without_evidence_the_right_name_is_lost_and_counted(problem: Problem) -> None:
    outcomes = exam.degraded(problem, Metrics(problem, captured(TOOK)))
    assert "ranges" not in outcomes  # the programs have none
    assert not any(piece.startswith("counters") for piece in outcomes)
    assert len(outcomes["host calls"]) == 2  # the mislabelled case is not asked about
    assert outcomes["what memory a copy reads"] == ["abstain"]  # the other case copies nothing


def test_a_name_that_holds_and_says_less_is_counted_apart() -> None:
    assert exam.outcome("host-bound", "data-starved") == exam.BROADER
    assert exam.outcome("data-starved", "data-starved") == exam.RIGHT
    assert exam.outcome("data-starved", "host-bound") == "data-starved"


def test_only_a_named_bottleneck_is_a_false_alarm() -> None:
    assert Answer("c", "leak", ("leak",), ("launch-bound",)).false_alarm
    assert not Answer("c", "leak", ("leak",), ("healthy", "dram-bound")).false_alarm
    assert not Answer("c", "leak", ("leak",), ("abstain",)).false_alarm
    assert not Answer("c", "leak", ("healthy", "leak"), ("healthy",), 0.04).right


def test_a_bound_without_a_fault_stands_behind_healthy() -> None:
    named = ("healthy", "dram-bound")
    assert Answer("c", "dram-bound", named, ("healthy",), predicted=0.0).right
    assert not Answer("c", "tensor-bound", named, ("healthy",), predicted=0.0).right


def test_the_page_counts_and_shows_each_specimen(problem: Problem) -> None:
    shown = ZOO.exam(page(problem, captured(TOOK)))
    found = "Of 3 specimens the diagnosis names the planted bottleneck first in 2, and at all in 2."
    assert found in shown
    assert "a bottleneck in **0** of the healthy twins" in shown
    rows = rows_of(shown)
    assert rows[1][:4] == ["waits", "host-sync", "host-sync", "healthy"]
    assert rows[3][2] == "**pageable-copy**"
    assert rows[3][4:] == ["–", "–", "25 %"]
    assert "Nsight Compute's rules" not in shown  # the programs were not profiled with it


def test_a_margin_is_the_distance_to_the_nearest_threshold(problem: Problem) -> None:
    answers = exam.answers(problem, Metrics(problem, captured(TOOK)))
    by_case = {answer.case: answer for answer in answers}
    first = by_case["copies"]
    assert first.margin is not None
    assert first.margin > 0
    assert by_case["mislabelled"].margin is None
    near = Answer("near", "leak", ("leak",), ("healthy",), margin=0.25)
    far = Answer("far", "leak", ("leak",), ("healthy",), margin=1.0)
    missed = Answer("missed", "leak", ("abstain",), ("healthy",), margin=0.01)
    shown = ZOO.exam_table._margins([near, far, missed])
    assert "by 62 % in the median; the nearest, near, by 25 %." in shown


def test_the_figure_has_a_point_a_right_answer_with_both_gains() -> None:
    named = ("leak",)
    near = Answer("near", "leak", named, ("healthy",), predicted=0.5, gained=0.42)
    far = Answer("far", "host-bound", ("host-bound",), ("healthy",), predicted=0.75, gained=0.5)
    missed = Answer("missed", "leak", ("abstain",), ("healthy",), predicted=0.5, gained=0.5)
    unpriced = Answer("unpriced", "leak", named, ("healthy",), gained=0.5)
    bound = Answer("bound", "dram-bound", ("healthy", "dram-bound"), ("healthy",), 0.0, 0.7)
    rows = exam_gains.rows([near, far, missed, unpriced, bound])
    assert [(row["predicted"], row["name"]) for row in rows] == [(50, ""), (75, "host-bound")]
    assert [row["kind"] for row in rows] == ["memory", "time, between kernels"]
    drawn = exam_gains.draw(rows)
    assert drawn is not None
    assert ">host-bound<" in drawn
    assert exam_gains.draw([]) is None


def test_names_in_the_figure_keep_clear_of_points_and_of_each_other() -> None:
    source = random.Random(0)
    points: list[dict[str, Any]] = [
        {"predicted": source.uniform(20, 90), "gained": source.uniform(20, 90), "name": "leak"}
        for _ in range(12)
    ]
    boxes = []
    for label in exam_gains._labels(points):
        x, y = exam_gains._pixels(label)
        length = exam_gains._CHARACTER * 4
        left = x + GAP if label["align"] == "left" else x - GAP - length
        middle = y + label["down"]
        boxes.append((left, middle - FONT / 2, left + length, middle + FONT / 2))
        assert (label["align"] == "left") == (label["gained"] < label["predicted"])
    assert len(boxes) == 12
    assert not any(exam_gains._overlap(*pair) for pair in itertools.combinations(boxes, 2))
    dots = [(x, y, x, y) for x, y in map(exam_gains._pixels, points)]
    assert not any(exam_gains._overlap(box, dot) for box in boxes for dot in dots)


def test_a_bound_predicts_no_gain_and_has_no_error() -> None:
    bound = Answer("a", "dram-bound", ("healthy", "dram-bound"), ("healthy",), 0.0, 0.7)
    fault = Answer("b", "leak", ("leak",), ("healthy",), 0.5, 0.4)
    said = ZOO.exam_table._sentence([bound, fault])
    assert "first in 1, and at all in 2. Where a part of the GPU is the limit (1) it calls" in said
    assert "Of 1 gains" in said
    assert "off by at most 25 % of what the twin gained, and 1 by 15 % or more" in said


def test_the_page_says_what_is_named_without_each_piece(problem: Problem) -> None:
    rows = rows_of(ZOO.exam_without(page(problem, captured(TOOK))))
    assert rows[0] == [
        "without",
        "specimens",
        "still right",
        "abstained",
        "broader name",
        "another name",
    ]
    assert [row[1] for row in rows[1:] if row[0] == "host calls"] == ["2"]


def test_the_rules_of_nsight_compute_are_graded_beside_the_diagnosis() -> None:
    shown = ZOO.exam_table._rules(
        [
            Answer("a", "too-few-blocks", ("too-few-blocks",), ("healthy",), rules=("Small Grid",)),
            Answer(
                "b",
                "uncoalesced",
                ("uncoalesced",),
                ("healthy",),
                rules=("Small Grid", "Uncoalesced Global Accesses"),
            ),
            Answer("c", "uncoalesced", ("uncoalesced",), ("healthy",)),
        ]
    )
    assert "Of the 2 specimens" in shown
    assert (
        "leads to the planted bottleneck in 1, some rule in 2; the diagnosis names it first in 2"
        in shown
    )


def test_the_table_of_findings_goes_top_down_and_has_the_range_of_gains(problem: Problem) -> None:
    took = {place: 4.0 if place[1] == "sick" else 2.0 for place in TOOK}
    took |= {("waits", "healthy"): 1.0}
    (_, *rows) = rows_of(ZOO.findings(page(problem, captured(took))))
    assert [row[0] for row in rows] == ["multi-GPU", "timeline", "timeline"]
    assert [(row[1].split("]")[0], row[3]) for row in rows] == [
        ("[straggler", "2×"),
        ("[host-sync", "4×"),
        ("[pageable-copy", "2×"),
    ]
