"""What a cause predicts of a program's time when one thing about its run is changed, and what came.

A diagnosis infers a cause from a recording. An intervention tests it: where the cause holds, the
time has to follow, and nobody needs to trust the pattern. A **sensitivity** is the relative change
of the time over that of what was changed: where a host that is 1.5 times slower makes a program
1.4 times slower, the host decides 80 % of its time. So it compares to a finding's share. (Virtual
speed-ups by slowing the rest: Curtsinger and Berger, "Coz", SOSP 2015. Here the part itself is
slowed, which needs no knowledge of the rest.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.analysis.diagnose.thresholds import MATTERS
from harness.analysis.statistics import Interval

Effect = Literal["longer", "not longer", "shorter"]
Outcome = Literal["agrees", "disagrees", "undecided", "not measured"]

SLOWER = 1.5
"""By how much a kind of host time is made longer. Twice as much halves the error of a sensitivity;
but a device that the host keeps busy has to stay so, which it does where the host needs less than
two thirds of the device's time."""


@dataclass(frozen=True)
class Intervention:
    """One change of a run; ``does`` says which.

    ``factor``: what is changed becomes that many times as large; 2 for a switch, whose sensitivity
    is then the relative change of the time itself. ``bound``: the sensitivity from which on the
    time counts as longer, as a fraction.
    """

    id: str
    does: str
    factor: float = 2.0
    bound: float = MATTERS

    def sensitivity(self, ratio: Interval) -> Interval:
        """Return the sensitivity of which the time under the change over the usual one tells."""
        value, low, high = (
            (each - 1) / (self.factor - 1) for each in (ratio.value, ratio.low, ratio.high)
        )
        return Interval(value, low, high, ratio.rounds)


_ALL = (
    Intervention("slow-launches", f"launches take the host {SLOWER:g} times as long", SLOWER),
    Intervention("slow-host", f"host code between calls takes {SLOWER:g} times as long", SLOWER),
    Intervention(
        "slow-allocation", f"calls that allocate or free take {SLOWER:g} times as long", SLOWER
    ),
    Intervention(
        "slow-copies", f"calls that copy 64 KiB or more take {SLOWER:g} times as long", SLOWER
    ),
    # Device and host cannot both decide more than half.
    Intervention("double-batch", "the batch is twice as large", bound=0.5),
    Intervention("one-core", "the program runs on one core"),
    Intervention("launch-blocking", "each launch waits for its kernel (CUDA_LAUNCH_BLOCKING)"),
    Intervention("no-caching", "torch keeps no freed memory (PYTORCH_NO_CUDA_MEMORY_CACHING)"),
    Intervention("expandable-segments", "torch's segments grow (expandable_segments)"),
)
INTERVENTIONS: Mapping[str, Intervention] = {each.id: each for each in _ALL}
"""By id. launch-blocking and no-caching have no prediction: what they cost is the most that the
host's lead and torch's cache save."""


@dataclass(frozen=True)
class Prediction:
    """What a cause says of the time under interventions: of at least one, where it is longer."""

    effect: Effect
    interventions: tuple[str, ...]
    why: str


OF_KERNELS = (
    *("uncoalesced", "cache-thrash", "bank-conflicts", "warp-divergence", "register-spills"),
    *("atomics-contention", "too-few-blocks", "tail-effect", "tile-quantisation"),
    *("low-occupancy-registers", "low-occupancy-shared", "latency-bound", "barrier-imbalance"),
    *("issue-bound", "integer-bound", "special-function-bound", "fp64-bound", "fp32-bound"),
    *("shared-memory-bound", "tensor-cores-unused", "inter-sm-traffic", "tensor-bound"),
    *("dram-bound", "host-memory-traffic", "constant-divergence", "local-arrays", "global-sums"),
    *("grid-barrier", "frequent-barriers", "l1-bound", "slow-range-reduction", "small-tiles"),
)
"""The findings on kernels, by id: a GPU's host lacks the readers, which their registry imports."""
_HOST_AHEAD = tuple(
    Prediction("not longer", (each,), "the device decides: the host is ahead of it")
    for each in ("slow-launches", "slow-host")
)
_DEVICE = (
    *_HOST_AHEAD,
    Prediction("longer", ("double-batch",), "the device has twice the work"),
)
_HEALTHY = (
    *_DEVICE,
    *(
        Prediction("not longer", (each,), "no cause has 5 % at stake")
        for each in ("slow-allocation", "slow-copies")
    ),
)
PREDICTIONS: Mapping[str, tuple[Prediction, ...]] = {
    "launch-bound": (
        Prediction("longer", ("slow-launches",), "the device waits for launches"),
        Prediction("not longer", ("double-batch",), "the device has time to spare"),
    ),
    "host-bound": (Prediction("longer", ("slow-host",), "the device waits for host code"),),
    "host-sync": (
        Prediction(
            "longer",
            ("slow-launches", "slow-host"),
            "after each wait the device is idle until the host has launched again",
        ),
    ),
    "data-starved": (
        Prediction(
            "longer",
            ("slow-host", "one-core"),
            "input is made by the launching thread, or by workers that need cores",
        ),
    ),
    "compile-in-loop": (
        Prediction("longer", ("slow-host",), "compiling and loading is host code"),
    ),
    "allocator-churn": (
        Prediction("longer", ("slow-allocation",), "the device waits for the driver's allocator"),
    ),
    "pageable-copy": (
        Prediction("longer", ("slow-copies",), "the host itself copies, and the device waits"),
    ),
    "fragmentation": (
        Prediction("shorter", ("expandable-segments",), "segments that grow leave no gaps"),
    ),
    **dict.fromkeys(
        (
            *("serialised-copy", "copy-engine-bound", "stream-serialised", "graph-opaque"),
            *("exposed-communication", "straggler", "pipeline-bubble", "expert-imbalance"),
        ),
        _HOST_AHEAD,
    ),
    **dict.fromkeys(OF_KERNELS, _DEVICE),
    "healthy": _HEALTHY,
}
"""Causes to what they predict. Findings of other ids predict nothing that a run can show."""

BYTES = frozenset({"fragmentation"})
"""Causes whose predictions are of reserved bytes, so that the program has to print them."""

Sensitivities = Mapping[str, Interval]
"""By the id of the intervention; what was not measured is absent."""


@dataclass(frozen=True)
class Tested:
    """One prediction with its outcome."""

    prediction: Prediction
    outcome: Outcome


@dataclass(frozen=True)
class Verdict:
    """What the tests say of a cause; ``agreeing`` of ``decided`` predictions came true."""

    cause: str
    tests: tuple[Tested, ...]

    @property
    def agreeing(self) -> int:
        """Return how many predictions came true."""
        return sum(test.outcome == "agrees" for test in self.tests)

    @property
    def decided(self) -> int:
        """Return how many predictions came true or did not."""
        return self.agreeing + sum(test.outcome == "disagrees" for test in self.tests)

    @property
    def is_borne_out(self) -> bool | None:
        """Return whether all decided predictions came true, None if none was decided."""
        return self.agreeing == self.decided if self.decided else None


def of_time() -> list[str]:
    """Return the causes that runs tell apart by time: those of kernels predict all the same."""
    return [each for each in PREDICTIONS if each not in BYTES and each not in OF_KERNELS]


def judged(cause: str, measured: Sensitivities) -> Verdict:
    """Return what ``measured`` says of a cause of ``PREDICTIONS``."""
    return Verdict(
        cause, tuple(Tested(each, outcome(each, measured)) for each in PREDICTIONS[cause])
    )


def outcome(prediction: Prediction, measured: Sensitivities) -> Outcome:
    """Return whether a prediction came true: the whole interval has to lie beyond the bound."""
    outcomes = {
        _outcome(prediction.effect, measured[each], INTERVENTIONS[each].bound)
        for each in prediction.interventions
        if each in measured
    }
    # One that agrees is enough; otherwise none may be open.
    order: tuple[Outcome, ...] = ("agrees", "undecided", "disagrees")
    none: Outcome = "not measured"
    found = next((each for each in order if each in outcomes), none)
    missing = any(each not in measured for each in prediction.interventions)
    return "undecided" if found == "disagrees" and missing else found


def _outcome(effect: Effect, sensitivity: Interval, bound: float) -> Outcome:
    limit = -bound if effect == "shorter" else bound
    above, below = sensitivity.low > limit, sensitivity.high < limit
    if not above and not below:
        return "undecided"
    return "agrees" if above == (effect == "longer") else "disagrees"
