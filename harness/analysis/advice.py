"""Advice against evidence: its gain in every case, and what else was measured there.

Rule and reasons: docs/statistics.md, "Advice".
"""

import math
from dataclasses import dataclass, replace

from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import THRESHOLD, Verdict, judged_ends, verdict
from harness.problem.model import Advice, Problem
from harness.problem.needs import rivals

_ORDER: tuple[Verdict, ...] = ("refuted", "not measured", "inconclusive", "reproduced")


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
    def beaten(self) -> bool:
        """Return whether the alternative is better, clear of a tie."""
        return self.rival is not None and _beats(self.lead)

    @property
    def undecided(self) -> bool:
        """Return whether nothing can be said about the alternative: no ratio, or no clock."""
        return self.rival is not None and not _decides(self.lead)

    @property
    def behind(self) -> Measured:
        """Return the inverse of ``lead``: by what factor the alternative is better.

        It has no value where the alternative has no ratio, or is zero.
        """
        lead = self.lead
        if not (lead.value and lead.low and lead.high):
            return replace(lead, value=None)
        return replace(
            lead, value=1 / lead.value, low=1 / lead.high, high=1 / lead.low, ci99=None, spread=None
        )


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
    rival = min(leads, key=lambda variant: _strength(leads[variant]), default=None)
    lead = leads[rival] if rival else Measured("×", why="nothing else was measured")
    pays = {
        metric: metrics.ratio((metric, advice.take, case), (metric, advice.instead_of, case))
        for metric in advice.pays
    }
    decided = verdict(measured, advice.bound)
    if rival and decided != "not measured":
        decided = min(decided, _against(lead), key=_ORDER.index)
    return Gain(case, measured, decided, rival, lead, pays)


def _improvement(
    problem: Problem, advice: Advice, metrics: Metrics, case: str, other: str
) -> Measured:
    """Return by what factor ``take`` is better than ``other`` in a case."""
    taken, against = (advice.metric, advice.take, case), (advice.metric, other, case)
    if problem.metric(advice.metric).better == "higher":
        return metrics.ratio(taken, against)
    return metrics.ratio(against, taken)


def _beats(lead: Measured) -> bool:
    """Return whether the alternative is better: the whole 95 % interval, by the threshold."""
    return _decides(lead) and judged_ends(lead)[0][1] < 1 - THRESHOLD


def _decides(measured: Measured) -> bool:
    return measured.value is not None and not math.isinf(measured.clock_factor)


def _against(lead: Measured) -> Verdict:
    """Return what an alternative leaves of an advice."""
    if _beats(lead):
        return "refuted"
    return "reproduced" if _decides(lead) else "inconclusive"


def _strength(lead: Measured) -> tuple[bool, bool, float]:
    """Return what alternatives are ordered by: those that are better, then the undecided."""
    return not _beats(lead), _decides(lead), lead.value or 0.0
