"""Remarks on claims and on the metrics that they read."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.problem.model import BoundClaim, Problem
from harness.problem.needs import further

_ALL = 1e12
"""A bound that no time, rate, ratio or number of bytes of a study reaches."""
_FAR = 10.0
"""Times the bound, or a fraction of it, from which on a claim decides nothing."""


def no_claims(study: Study) -> Iterator[Remark]:
    """Yield a remark on a study that claims nothing."""
    if not study.problem.claims:
        what = "the study claims nothing, so no run can refute it"
        yield study.remark("no-claims", ("claims",), what, "state what its evidence should show")


def unread_metric(study: Study) -> Iterator[Remark]:
    """Yield a remark on each metric that no claim, no template and no section of its own names.

    Without a template, the default worklog shows every metric. Those of problem 0 are the ceilings,
    which a section of every page shows.
    """
    if not study.texts or study.problem.number == 0:
        return
    read = {name.partition("@")[0] for name in _read_by_claims(study.problem)}
    said = "\n".join([*study.texts.values(), study.sections])
    for name in study.problem.metrics:
        if name not in read and not re.search(rf"[\"']{re.escape(name)}(@|[\"'])", said):
            what = f"no claim and no template reads {name!r}"
            yield study.remark("unread-metric", ("metrics", name), what, "show it, or drop it")


def cannot_fail(study: Study) -> Iterator[Remark]:
    """Yield a remark on each claim that holds whatever is measured.

    A value that is no difference is at least 0, and a number that the workload states, undivided,
    is what its script was told.
    """
    for index, claim in enumerate(study.problem.claims):
        if claim.kind == "advice":
            continue
        bound = claim.bound
        if (bound.above is not None and bound.above <= 0) or (
            bound.between is not None and bound.between[0] <= 0 and bound.between[1] >= _ALL
        ):
            what = f"{claim.id}: no measured value misses the bound"
            yield study.remark(
                "cannot-fail", ("claims", index, "bound"), what, "give one that a run could miss"
            )
        elif _is_stated(study.problem, claim):
            what = f"{claim.id}: reads a setting that repro.py was given and states again"
            remedy = "bound what the workload did, as measured"
            yield study.remark("cannot-fail", ("claims", index), what, remedy)


def _read_by_claims(problem: Problem) -> Iterator[str]:
    for claim in problem.claims:
        yield claim.metric
        yield from (metric for metric, _, _ in [*claim.sides, *further(problem, claim)])


def _is_stated(problem: Problem, claim: BoundClaim) -> bool:
    """Return whether a claim, without a ratio, reads a fact named like a parameter."""
    name, _, case = claim.place(claim.of)
    metric = problem.metric(name)
    given = {*problem.cases[case].params, *(_options(problem))}
    return claim.over is None and metric.per is None and metric.fact in given


def _options(problem: Problem) -> Iterator[str]:
    for variant in problem.variants.values():
        yield from variant.options


def far_bound(study: Study) -> Iterator[Remark]:
    """Yield a remark on each bound that every report's value meets by a factor of ten or more."""
    from harness.analysis import claims
    from harness.analysis.metrics import Metrics
    from harness.extract import door

    factors: dict[str, list[float]] = {}
    for folder in study.reports:
        report = door.report(folder)
        metrics = Metrics(study.problem, report.tables, report.origin.gpus)
        for result in claims.of_run(study.problem, metrics, report.origin.run):
            if result.verdict == "reproduced" and isinstance(result, claims.BoundResult):
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
