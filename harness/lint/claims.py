"""Remarks on claims and on the metrics that they read."""

import re
from collections.abc import Iterator

from harness.lint.study import Remark, Study
from harness.problem.model import BoundClaim, Problem
from harness.problem.needs import further

_ALL = 1e12
"""A bound that no time, rate, ratio or number of bytes of a study reaches."""


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
