"""What interventions tell of a cause: sensitivities, predictions, and verdicts."""

import json
from collections import Counter

import pytest

from benchmarks.causes_on_zoo import graded
from harness.analysis.diagnose import known_findings
from harness.analysis.sensitivity import (
    INTERVENTIONS,
    OF_KERNELS,
    PREDICTIONS,
    Intervention,
    judged,
    of_time,
)
from harness.analysis.statistics import Interval
from tests.support.paths import ROOT


def known(value: float, reach: float = 0.01) -> Interval:
    return Interval(value, value - reach, value + reach, 5)


def test_a_sensitivity_is_the_share_of_the_time_that_the_slowed_part_takes() -> None:
    # 80 of 100 ms are the host's: 1.5 times slower, they take 120, and all takes 140.
    sensitivity = Intervention("slow", "", 1.5).sensitivity(Interval(1.4, 1.35, 1.45, 5))
    assert (sensitivity.value, sensitivity.low, sensitivity.high) == pytest.approx((0.8, 0.7, 0.9))
    switch = Intervention("switch", "").sensitivity(known(1.25))
    assert switch.value == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("cause", "measured", "verdict"),
    [
        ("host-bound", {"slow-host": known(0.6)}, True),
        ("host-bound", {"slow-host": known(0.0)}, False),
        ("host-bound", {"slow-host": known(0.6, reach=0.58)}, None),
        ("host-bound", {"slow-launches": known(0.6)}, None),
        ("launch-bound", {"slow-launches": known(0.6), "double-batch": known(0.1)}, True),
        ("launch-bound", {"slow-launches": known(0.6), "double-batch": known(0.9)}, False),
        ("host-sync", {"slow-launches": known(0.0), "slow-host": known(0.2)}, True),
        ("host-sync", {"slow-launches": known(0.0), "slow-host": known(0.0)}, False),
        ("data-starved", {"slow-host": known(0.0)}, None),  # the workers were not tested
        ("data-starved", {"one-core": known(3.0)}, True),
        ("healthy", {"slow-launches": known(0.0), "slow-host": known(0.03)}, True),
        ("healthy", {"slow-launches": known(0.0), "slow-copies": known(0.2)}, False),
        ("dram-bound", {"double-batch": known(0.95)}, True),
        ("fragmentation", {"expandable-segments": known(-0.3)}, True),
        ("fragmentation", {"expandable-segments": known(0.3)}, False),
    ],
)
def test_a_cause_is_borne_out_where_each_decided_prediction_came_true(
    cause: str, measured: dict[str, Interval], verdict: bool | None
) -> None:
    assert judged(cause, measured).is_borne_out is verdict


def test_every_prediction_is_of_an_intervention_and_every_cause_is_a_finding() -> None:
    named = {
        name for tests in PREDICTIONS.values() for test in tests for name in test.interventions
    }
    assert named <= INTERVENTIONS.keys()
    assert PREDICTIONS.keys() <= known_findings.kinds().keys() | {"healthy"}
    assert set(OF_KERNELS) == known_findings.KERNEL.kinds().keys()
    assert not set(of_time()) & {"fragmentation", *OF_KERNELS}


def test_the_page_tells_how_the_zoos_twins_were_graded() -> None:
    kept = json.loads((ROOT / "benchmarks/results/causes_on_zoo.json").read_text())
    verdicts = Counter(graded(row)["borne_out"] for row in kept)
    page = " ".join((ROOT / "docs/diagnosis.md").read_text().split())
    assert (
        f"of {len(kept)} timelines {verdicts[True]} are borne out, {verdicts[False]} is not,"
        f" and {verdicts[None]} are undecided" in page
    )
    decided = verdicts[True] + verdicts[False]
    assert verdicts[True] >= 0.95 * decided
