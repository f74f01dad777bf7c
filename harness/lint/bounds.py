"""Remarks on bounds that the published reports are far from: a claim that no run will miss."""

from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.problem.model import BoundClaim

_FAR = 10.0
"""Times the bound, or a fraction of it, from which on a claim decides nothing."""


def far_bound(study: Study) -> Iterator[Remark]:
    """Yield a remark on each bound that every report's value meets by a factor of ten or more."""
    from harness.analysis import claims
    from harness.analysis.metrics import Metrics
    from harness.extract import door

    factors: dict[str, list[float]] = {}
    for folder in study.reports:
        report = door.report(folder)
        metrics = Metrics(study.problem, report.tables, report.origin.gpus)
        for result in claims.judge(study.problem, metrics, report.origin.run.target.device):
            if result.verdict == "reproduced" and isinstance(result.claim, BoundClaim):
                factor = _factor(result.claim, result.measured.value)
                factors.setdefault(result.claim.id, []).append(factor)
    for index, claim in enumerate(study.problem.claims):
        least = min(factors.get(claim.id, [0.0]))
        if least >= _FAR:
            what = f"{claim.id}: measured {least:.0f} times beyond its bound"
            remedy = "bound it where a run could miss it"
            yield study.remark("far-bound", ("claims", index, "bound"), what, remedy)


def _factor(claim: BoundClaim, value: float | None) -> float:
    """Return how many times a value is beyond a one-sided bound, 0 where that says nothing."""
    above, below = claim.bound.above, claim.bound.below
    if not value or value < 0:
        return 0.0
    if above:
        return value / above
    return below / value if below else 0.0
