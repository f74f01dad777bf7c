"""Remarks on claims that no run can test, as it starts too few processes (docs/statistics.md)."""

from collections.abc import Iterator

from harness.analysis.verdict import LEAST_PROCESSES
from harness.lint.study import Remark, Study
from harness.problem.located_yaml import Place
from harness.problem.model import AnyClaim, Metric, Problem
from harness.problem.needs import further, is_repeated

_REMEDY = f"repeat it in {LEAST_PROCESSES} rounds, or bound a count"


def too_few_rounds(study: Study) -> Iterator[Remark]:
    """Yield a remark on each place of a manifest whose rounds are too few to judge its claims by.

    A time, rate or energy of fewer than three processes is described. A profiled capture is
    recorded once, so a claim on its times is always described, and no headline.
    """
    by_place: dict[Place, list[str]] = {}
    for index, claim in enumerate(study.problem.claims):
        read = [study.problem.metric(name) for name, _, _ in claim.sides]
        if claim.headline and any(each.timed and not is_repeated(each) for each in read):
            what = f"{claim.id}: a headline on a time of a profiled capture, which is recorded once"
            remedy = "bound what unprofiled processes time, or a count"
            yield study.remark("too-few-rounds", ("claims", index, "metric"), what, remedy)
        for place in _short_of(study.problem, claim):
            by_place.setdefault(place, []).append(claim.id)
    for place, ids in by_place.items():
        what = f"too few processes to judge {ids[0]}"
        others = f", and {len(ids) - 1} more" if len(ids) > 1 else ""
        yield study.remark("too-few-rounds", place, what + others, _REMEDY)


def _short_of(problem: Problem, claim: AnyClaim) -> Iterator[Place]:
    """Yield each place that says how often, and too rarely, unprofiled times of a claim are taken.

    What an advice only pays is not judged.
    """
    pays = claim.pays if claim.kind == "advice" else []
    rivals = [place for place in further(problem, claim) if place[0] not in pays]
    found: dict[Place, None] = {}
    for name, _, case in [*claim.sides, *rivals]:
        metric = problem.metric(name)
        if not metric.timed or not is_repeated(metric):
            continue
        in_case = problem.cases[case].rounds
        of_kind = problem.captures[metric.capture].rounds
        if _counted(metric, in_case or of_kind) < LEAST_PROCESSES:
            kind: Place = ("captures", metric.capture, "rounds")
            found.setdefault(("cases", case, "rounds") if in_case else kind)
        elif claim.headline and _counted(metric, problem.short.rounds) < LEAST_PROCESSES:
            found.setdefault(("short", "rounds"))
    yield from found


def _counted(metric: Metric, rounds: int) -> int:
    """Return how many of a number of rounds a metric is taken of."""
    if metric.start is None:
        return rounds
    return 1 if metric.start == "first" else rounds - 1
