"""What claims need: the captures of variants and cases that they read, and in how many rounds."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.evidence.kinds import KINDS
from harness.problem.fields import DEVICES, CaptureKind, Device
from harness.problem.model import Advice, AnyClaim, Metric, Place, Problem

Spot = tuple[CaptureKind, str, str]
"""A kind of capture, a variant and a case: what one cell of each round records."""


@dataclass(frozen=True)
class Use:
    """How claims read a spot: how many wait for it, and the fewest rounds that answer them.

    ``sampled``: some read times, so that each round narrows their interval.
    """

    claims: int = 0
    sampled: bool = False
    rounds: int = 1


def can_judge(problem: Problem, claim: AnyClaim, device: Device) -> bool:
    """Return whether the plan for ``device`` has all that a claim cannot be judged without."""
    return claim.needs in (None, device) and all(
        _is_planned(problem, place, device) for place in claim.sides
    )


def uses(problem: Problem, claims: Iterable[AnyClaim], device: Device) -> dict[Spot, Use]:
    """Return how those ``claims`` that ``device`` can judge read each spot.

    An advice also reads the alternatives that it has to beat, and its costs.
    """
    by_cell: dict[Spot, Use] = {}
    for claim in claims:
        if not can_judge(problem, claim, device):
            continue
        by_spot: dict[Spot, list[Metric]] = {}
        for name, variant, case in [*claim.sides, *further(problem, claim)]:
            if _is_planned(problem, (name, variant, case), device):
                metric = problem.metric(name)
                by_spot.setdefault((metric.capture, variant, case), []).append(metric)
        for spot, metrics in by_spot.items():
            by_cell[spot] = _with(by_cell.get(spot, Use()), metrics)
    return by_cell


def _with(use: Use, metrics: list[Metric]) -> Use:
    """Return the use of a spot by one claim more, which reads these metrics of it."""
    sampled = any(metric.timed for metric in metrics)
    later = any(metric.start == "later" for metric in metrics)
    return Use(use.claims + 1, use.sampled or sampled, max(use.rounds, 2 if later else 1))


def further(problem: Problem, claim: AnyClaim) -> list[Place]:
    """Return what a claim reads besides its sides: of an advice its rivals, and its costs."""
    if claim.kind == "bound":
        return []
    read = [(claim.metric, rivals(problem, claim))]
    read += [(metric, [claim.take, claim.instead_of]) for metric in claim.pays]
    return [
        (metric, variant, case)
        for metric, variants in read
        for case in claim.at
        for variant in variants
    ]


def rivals(problem: Problem, advice: Advice) -> list[str]:
    """Return the variants that an advice has to beat, besides its two sides."""
    sides = (advice.take, advice.instead_of)
    return [name for name in problem.variants if name not in (*sides, *advice.but)]


def measured(problem: Problem, advice: Advice, variants: Iterable[str]) -> list[str]:
    """Return which of these variants the advice's cases measure its metric of."""
    kind = problem.metric(advice.metric).capture
    return [
        name
        for name in variants
        if any(
            problem.covers(kind, name, case, device)
            for case in advice.at
            for device in DEVICES
            if advice.needs in (None, device)
        )
    ]


def is_repeated(metric: Metric) -> bool:
    """Return whether a metric is taken in rounds: of processes that nothing profiles."""
    return KINDS[metric.capture].unprofiled


def _is_planned(problem: Problem, place: Place, device: Device) -> bool:
    metric, variant, case = place
    return problem.covers(problem.metric(metric).capture, variant, case, device)
