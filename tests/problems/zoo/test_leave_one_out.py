"""Leave-one-out of the thresholds: on programs of one number, and on launches of problem 6."""

import math
from dataclasses import dataclass
from types import ModuleType

import pytest

from benchmarks import leave_one_out
from benchmarks.leave_one_out import FAR, STEPS, Range, Specimen
from harness.analysis.diagnose import conclude, kernel_thresholds
from tests.support import kept_launches

PRODUCT = "harness.analysis.diagnose.kernel_thresholds.PRODUCT"
TOY = ModuleType("toy")
THRESHOLD = "toy.THRESHOLD"
STEP = FAR ** (1 / STEPS)


@dataclass(frozen=True)
class OneNumber:
    """A program that is named where its number is above the threshold, a twin where below."""

    case: str
    number: float
    sick: bool

    @property
    def right(self) -> bool:
        threshold: float = vars(TOY)["THRESHOLD"]
        return (self.number > threshold) == self.sick


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    vars(TOY)["THRESHOLD"] = 1.0
    monkeypatch.setattr(leave_one_out, "MODULES", (TOY,))


@pytest.mark.usefixtures("toy")
def test_a_specimen_left_out_is_missed_where_the_others_set_the_threshold_past_it() -> None:
    programs = [
        OneNumber("twin", 0.75, sick=False),
        OneNumber("near", 1.05, sick=True),
        OneNumber("far", 1.8, sick=True),
    ]
    results = {each.case: each for each in leave_one_out.left_out(programs)}
    assert {case: each.right for case, each in results.items()} == {
        "twin": True,  # the others set no lower end: the threshold keeps its place
        "near": False,  # between 0.75 and 1.8 the middle is 1.16
        "far": True,
    }
    assert results["twin"].moved == {}
    middle = results["near"].moved[THRESHOLD]
    assert middle == pytest.approx(math.sqrt(0.75 * 1.8), rel=STEP - 1)
    assert vars(TOY)["THRESHOLD"] == 1.0


@pytest.mark.usefixtures("toy")
def test_a_program_far_from_the_threshold_bounds_it_nowhere() -> None:
    assert leave_one_out.range_of(OneNumber("far", 9.0, sick=True), THRESHOLD) == Range(None, None)


@pytest.mark.usefixtures("toy")
def test_a_threshold_returns_to_its_value_when_a_diagnosis_stops_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), leave_one_out.scaled({THRESHOLD: 2.0}):
        assert leave_one_out.known() == {THRESHOLD: 2.0}
        1 / 0  # noqa: B018
    assert leave_one_out.known() == {THRESHOLD: 1.0}


def test_a_launch_bounds_a_threshold_at_its_own_value() -> None:
    """The truth is the evidence of the finding: the value that is held against the threshold."""
    case = "tensor-cores-unused-upcast-product"
    sick, healthy = (kept_launches.capture(f"{case}.{twin}") for twin in ("sick", "healthy"))
    evidence = conclude.diagnose([sick]).findings[0].evidence
    (share,) = (
        each.value for each in evidence if each.metric == "FFMAs that multiply loaded values"
    )
    found = leave_one_out.range_of(
        Specimen(case, kept_launches.SICK[case], (sick,), (healthy,)), PRODUCT
    )
    bound = share / 100 / kernel_thresholds.PRODUCT
    assert found.low is None
    assert found.high is not None
    assert found.high <= bound < found.high * STEP


def test_what_was_planted_elsewhere_is_not_right() -> None:
    case = "uncoalesced-transpose"
    sick, healthy = (kept_launches.capture(f"{case}.{twin}") for twin in ("sick", "healthy"))
    assert Specimen(case, "uncoalesced", (sick,), (healthy,)).right
    assert not Specimen(case, "bank-conflicts", (sick,), (healthy,)).right
    assert not Specimen(case, "uncoalesced", (sick,), (sick,)).right  # an alarm in the twin
