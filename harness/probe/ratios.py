"""Ratios of times that contenders took in the same turn, so that a slow turn falls out of them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import geometric_mean, median

Times = Mapping[str, Sequence[float]]
"""Contender to µs a launch, a value a turn; all contenders have the same turns."""

Values = dict[str, list[float]]
"""Metric to a value a turn."""


def better(times: Times, baselines: Sequence[str]) -> str:
    """Return the baseline with the lower median: the one that a contender has to beat."""
    return min((name for name in baselines if name in times), key=lambda name: median(times[name]))


def over(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return the speedup of the second over the first, turn by turn."""
    return [their / our for their, our in zip(theirs, ours, strict=True)]


def percent(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return the second's rate in % of the first's, turn by turn."""
    return [100 * ratio for ratio in over(theirs, ours)]


def of_baselines(times: Times, name: str, baselines: Sequence[str]) -> Values:
    """Return a contender's rate in % of each baseline's that ran, and of the better one's."""
    shares = {
        f"of_{base}": percent(times[base], times[name]) for base in baselines if base in times
    }
    return shares | {"of_better": percent(times[better(times, baselines)], times[name])}


def climbed(times: Times, ladder: Sequence[str]) -> dict[str, Values]:
    """Return each step's speed-up over the first step that ran and its gain over the one before."""
    steps = [name for name in ladder if name in times]
    speedups = {name: {"speedup": over(times[steps[0]], times[name])} for name in steps}
    for before, name in pairwise(steps):
        speedups[name]["gain"] = over(times[before], times[name])
    return speedups


def geometric_means(ratios: Sequence[Sequence[float]]) -> list[float]:
    """Return for each turn the geometric mean over shapes: a row a shape, a value a turn."""
    return [geometric_mean(turn) for turn in zip(*ratios, strict=True)]
