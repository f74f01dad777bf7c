"""What claims need: the captures of variants and cases that they read, and in how many rounds."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.problem.claim_checks import complete
from harness.problem.model import Advice, AnyClaim, CaptureKind, Device, Metric, Problem

Place = tuple[str, str, str]
"""A metric, a variant and a case."""

Spot = tuple[CaptureKind, str, str]
"""A kind of capture, a variant and a case: what one cell of each round records."""


@dataclass(frozen=True)
class Use:
    """How claims read a spot: how many wait for it, and the fewest rounds that answer them.

    ``sampled``: some read samples, so that each round narrows their interval.
    """

    claims: int = 0
    sampled: bool = False
    rounds: int = 1


def can_judge(problem: Problem, claim: AnyClaim, device: Device) -> bool:
    """Return whether the plan for ``device`` has all that a claim cannot be judged without."""
    return claim.needs in (None, device) and all(
        _is_planned(problem, place, device) for place in _sides(claim)
    )


def uses(problem: Problem, claims: Iterable[AnyClaim], device: Device) -> dict[Spot, Use]:
    """Return how those ``claims`` that ``device`` can judge read each spot.

    An advice also reads the alternatives that it has to beat, and its costs.
    """
    found: dict[Spot, Use] = {}
    for claim in claims:
        if not can_judge(problem, claim, device):
            continue
        further = [] if not isinstance(claim, Advice) else _alternatives(problem, claim)
        by_spot: dict[Spot, list[Metric]] = {}
        for name, variant, case in [*_sides(claim), *further]:
            if _is_planned(problem, (name, variant, case), device):
                metric = problem.metric(name)
                by_spot.setdefault((metric.capture, variant, case), []).append(metric)
        for spot, metrics in by_spot.items():
            found[spot] = _with(found.get(spot, Use()), metrics)
    return found


def _with(use: Use, metrics: list[Metric]) -> Use:
    """Return the use of a spot by one claim more, which reads these metrics of it."""
    sampled = any(metric.sample is not None for metric in metrics)
    later = any(metric.start == "later" for metric in metrics)
    return Use(use.claims + 1, use.sampled or sampled, max(use.rounds, 2 if later else 1))


def _sides(claim: AnyClaim) -> list[Place]:
    """Return the sides that a claim compares."""
    if isinstance(claim, Advice):
        sides = (claim.take, claim.instead_of)
        return [(claim.metric, variant, case) for case in claim.at for variant in sides]
    selections = [claim.of, *([claim.over] if claim.over else [])]
    places = [complete(claim, selection) for selection in selections]
    return [(metric, variant, case) for variant, case, metric in places]


def _alternatives(problem: Problem, advice: Advice) -> list[Place]:
    """Return what an advice has to beat, and the costs of its two sides."""
    rivals = [variant for variant in problem.variants if variant not in advice.but]
    return [
        *((advice.metric, variant, case) for case in advice.at for variant in rivals),
        *(
            (metric, variant, case)
            for metric in advice.pays
            for case in advice.at
            for variant in (advice.take, advice.instead_of)
        ),
    ]


def _is_planned(problem: Problem, place: Place, device: Device) -> bool:
    metric, variant, case = place
    return problem.covers(problem.metric(metric).capture, variant, case, device)
