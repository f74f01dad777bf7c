"""Advice against evidence: its gain in every case, and what else was measured there.

Rule and reasons: docs/statistics.md, "Advice".
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import THRESHOLD, Verdict, is_described, judged_ends, verdict
from harness.problem.model import Advice, Problem
from harness.problem.needs import rivals

_ORDER: tuple[Verdict, ...] = (
    "refuted",
    "not measured",
    "described",
    "undecided",
    "tie",
    "reproduced",
)

Standing: TypeAlias = Literal["better", "unknown", "described", "tie", "worse"]
"""How an alternative stands to what an advice takes: better and worse are clear by 1 %, a tie is
neither, and unknown where no ratio or clock decides."""

_STANDINGS: tuple[Standing, ...] = ("better", "unknown", "described", "tie", "worse")
_LEAVES: dict[Standing, Verdict] = {
    "better": "refuted",
    "unknown": "undecided",
    "described": "described",
    "tie": "tie",
    "worse": "reproduced",
}
"""What an alternative leaves of an advice."""


@dataclass(frozen=True)
class Gain:
    """What an advice gains in one case, as factors of improvement: more than 1 is better.

    ``gain`` is over ``instead_of``, ``lead`` over ``rival``: of all alternatives the one that comes
    closest or is ahead, None where no other variant was measured. ``pays`` are the ratios of take
    to instead_of by metric.
    """

    case: str
    gain: Measured
    verdict: Verdict
    rival: str | None
    lead: Measured
    pays: dict[str, Measured]

    @property
    def standing(self) -> Standing | None:
        """Return how the alternative stands to what is taken, None where there is none."""
        return standing(self.lead) if self.rival else None

    @property
    def behind(self) -> Measured:
        """Return the inverse of ``lead``: by what factor the alternative is better.

        It has no value where the alternative has no ratio, or is zero.
        """
        lead = self.lead
        if not (lead.value and lead.low and lead.high):
            return replace(lead, value=None)
        least, most = lead.spread or (0.0, 0.0)
        spread = (1 / most, 1 / least) if least else None
        return replace(
            lead, value=1 / lead.value, low=1 / lead.high, high=1 / lead.low, spread=spread
        )


def standing(lead: Measured) -> Standing:
    """Return how an alternative stands to what is taken, whose lead over it was measured."""
    if lead.value is None or math.isinf(lead.clock_factor):
        return "unknown"
    if is_described(lead):
        return "described"
    low, high = judged_ends(lead)
    if high < 1 - THRESHOLD:
        return "better"
    return "worse" if low > 1 + THRESHOLD else "tie"


def gains(problem: Problem, advice: Advice, metrics: Metrics) -> tuple[Gain, ...]:
    """Return the gain in every case of an advice, in its order, each with its verdict."""
    return tuple(_gain(problem, advice, metrics, case) for case in advice.at)


def worst(of: tuple[Gain, ...]) -> Gain:
    """Return the first case of those with the worst verdict."""
    return min(of, key=lambda gain: _ORDER.index(gain.verdict))


def least(of: tuple[Gain, ...]) -> Gain:
    """Return the case with the least gain; one that was not measured before all others."""
    return min(of, key=lambda gain: -1.0 if gain.gain.value is None else gain.gain.value)


def _gain(problem: Problem, advice: Advice, metrics: Metrics, case: str) -> Gain:
    measured = _improvement(problem, advice, metrics, case, advice.instead_of)
    leads = {
        variant: _improvement(problem, advice, metrics, case, variant)
        for variant in rivals(problem, advice)
        if metrics.get(advice.metric, variant, case).value is not None
    }
    rival = min(leads, key=lambda variant: nearness(leads[variant]), default=None)
    lead = leads[rival] if rival else Measured("×", why="nothing else was measured")
    pays = {
        metric: metrics.ratio((metric, advice.take, case), (metric, advice.instead_of, case))
        for metric in advice.pays
    }
    decided = verdict(measured, advice.bound)
    if rival and decided != "not measured":
        decided = min(decided, _LEAVES[standing(lead)], key=_ORDER.index)
    return Gain(case, measured, decided, rival, lead, pays)


def _improvement(
    problem: Problem, advice: Advice, metrics: Metrics, case: str, other: str
) -> Measured:
    """Return by what factor ``take`` is better than ``other`` in a case."""
    taken, against = (advice.metric, advice.take, case), (advice.metric, other, case)
    if problem.metric(advice.metric).better == "higher":
        return metrics.ratio(taken, against)
    return metrics.ratio(against, taken)


def nearness(lead: Measured) -> tuple[int, float]:
    """Return what alternatives are ordered by: how they stand, then how close they come.

    One that few processes put behind comes after closer ones that are known to be worse.
    """
    stands = standing(lead)
    if stands == "described" and (lead.value or 0.0) > 1 + THRESHOLD:
        stands = "worse"
    return _STANDINGS.index(stands), lead.value or 0.0
