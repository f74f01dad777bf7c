"""Who leads in attention alone: lines by hand, and what the committed report's processes gave."""

from statistics import median
from typing import Any

import pytest

from harness.report.page import Page
from tests.support.split_study import SECTIONS, part

LENGTHS = [100, 200, 400, 800]
RISING = [length**2 / 1e4 for length in LENGTHS]  # 1 at 100
FLATTER = [length / 20 for length in LENGTHS]  # meets the other at 500


@pytest.fixture(scope="module")
def race() -> Any:
    return part("leaders").Race


def test_the_last_change_is_found_whoever_leads_then(race: Any) -> None:
    to_ulysses = race(LENGTHS, RISING, FLATTER)
    assert to_ulysses.led == [100, 200, 400]
    assert to_ulysses.last == ("Ulysses", pytest.approx(500))
    assert race(LENGTHS, FLATTER, RISING).last == ("ring", pytest.approx(500))
    assert race(LENGTHS, RISING, [2 * each for each in RISING]).last == ("ring", None)


def test_a_change_is_foreseen_near_it_and_to_the_same_way(race: Any) -> None:
    measured = race(LENGTHS, RISING, FLATTER)
    later = race(LENGTHS, RISING, [1.1 * each for each in FLATTER])  # at 550
    assert later.foresees(measured, 11)
    assert not later.foresees(measured, 9)
    assert not race(LENGTHS, FLATTER, RISING).foresees(measured, 1000)
    always = race(LENGTHS, FLATTER, [2 * each for each in FLATTER])
    assert always.foresees(always, 0)
    assert not always.foresees(race(LENGTHS, FLATTER, RISING), 1000)


def test_each_process_of_the_report_is_told(report: Page) -> None:
    told = SECTIONS.leaders(report, "in-turn", "llama").splitlines()
    lengths = report.problem.cases["llama"].params["sweep"]["lengths"]
    rows = [line.strip("| ").split(" | ") for line in told if line.startswith("| ")][2:]
    times = {
        (way, length): report.metrics.samples(f"{way}_ms@attention-{length}", "in-turn", "llama")
        for way in ("ring", "ulysses")
        for length in lengths
    }
    assert len(rows) == len(times["ring", lengths[0]])
    for number, (_, led, last, _) in enumerate(rows):
        faster = [
            str(length)
            for length in lengths
            if median(times["ring", length][number]) < median(times["ulysses", length][number])
        ]
        assert led.split(", ") == faster
        assert last.startswith("ring, from " if str(lengths[-1]) in faster else "Ulysses, from ")
    foreseen = SECTIONS.foreseen(report, "in-turn", "llama")
    assert foreseen.endswith(f"in 0 of {len(rows)} processes")
    assert SECTIONS.foreseen(report, "in-turn", "llama-4") == "not measured"
