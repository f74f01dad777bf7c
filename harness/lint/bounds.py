"""Remarks on where bounds lie, held against what the published reports measured."""

from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.problem.model import BoundClaim

_FAR = 10.0
"""Times the bound, or a fraction of it, from which on a claim decides nothing."""


def far_bound(study: Study) -> Iterator[Remark]:
    """Yield a remark on each bound that every report's value meets by a factor of ten or more."""
    from harness.analysis.claims import BoundResult

    factors: dict[str, list[float]] = {}
    for judged in study.judged:
        for result in judged.results:
            if result.verdict == "reproduced" and isinstance(result, BoundResult):
                factor = _factor(result.claim, result.measured.value)
                factors.setdefault(result.claim.id, []).append(factor)
    for index, claim in enumerate(study.problem.claims):
        least = min(factors.get(claim.id, [0.0]))
        if least >= _FAR:
            what = f"{claim.id}: measured {least:.0f} times beyond its bound"
            remedy = "bound it where a run could miss it"
            yield study.remark("far-bound", ("claims", index, "bound"), what, remedy)


def moved_bound(study: Study) -> Iterator[Remark]:
    """Yield a remark on each bound that the newest run meets only since it was moved.

    Other claims that changed after the run are told on the page: it describes them.
    """
    from harness.analysis.verdict import verdict

    places = {claim.id: index for index, claim in enumerate(study.problem.claims)}
    newest = sorted(study.judged, key=lambda judged: judged.run)[-1:]
    for judged in newest:
        for result in judged.results:
            name, now = result.claim.id, result.claim.bound
            moved = [began[name] for began in judged.began if began.get(name, now) != now]
            missed = any(verdict(result.measured, then) != "reproduced" for then in moved)
            if missed and result.verdict == "reproduced":
                what = f"{name}: its bound was moved after the run, which meets it only since then"
                remedy = "move it back, or measure again and say why it moved"
                yield study.remark("moved-bound", ("claims", places[name], "bound"), what, remedy)


def _factor(claim: BoundClaim, value: float | None) -> float:
    """Return how many times a value is beyond a one-sided bound, 0 where that says nothing."""
    above, below = claim.bound.above, claim.bound.below
    if not value or value < 0:
        return 0.0
    if above:
        return value / above
    return below / value if below else 0.0
