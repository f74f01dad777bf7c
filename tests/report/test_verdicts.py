"""What a page says would decide a claim, by the interval with and without differing GPUs."""

from dataclasses import replace
from typing import Any

import pytest

from harness.analysis.claims import BoundResult
from harness.analysis.measured import Measured
from harness.problem.model import Bound
from harness.report import verdicts

# Five processes, whose interval alone lies above the bound.
FIVE = Measured("×", value=1.1, low=1.07, high=1.13, rounds=5, samples=50, timed=True)


def reason(value: Measured, claim: Any) -> str:
    return verdicts.why(claim.problem, BoundResult(claim, value, "undecided"))


@pytest.fixture
def claim() -> Any:
    class Claim:
        bound = Bound(above=1.0)
        problem = None

    return Claim()


def test_more_rounds_do_not_decide_what_two_gpus_leave_open(claim: Any) -> None:
    told = reason(replace(FIVE, clock_factor=1.2), claim)
    assert told.endswith("; one GPU at one clock would decide it")
    assert "more round" not in told


def test_more_rounds_decide_where_the_gpus_differ_little(claim: Any) -> None:
    told = reason(replace(FIVE, low=1.0, high=1.21, clock_factor=1.02), claim)
    # Student: ln 1.1 narrows to 0.065 with 7 rounds, and ln(1.1 / 1.02 / 1.01) is as large.
    assert told.endswith("2 more rounds would decide it")


def test_a_value_at_the_bound_is_decided_by_neither(claim: Any) -> None:
    told = reason(replace(FIVE, value=1.0101, low=0.95, high=1.07, clock_factor=1.2), claim)
    assert told.endswith("not even 200 more rounds would decide it")
