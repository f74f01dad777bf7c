"""What times taken in turn say of each contender against the others: ratios within each turn."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import geometric_mean, median

Times = Mapping[str, Sequence[float]]
"""Contender to µs a launch, a value a turn; all contenders have the same turns."""

Values = dict[str, list[float]]
"""Metric to a value a turn."""

BASELINES = ("torch", "cublaslt")


def better(times: Times) -> str:
    """Return the baseline with the lower median: what a contender has to beat."""
    return min((name for name in BASELINES if name in times), key=lambda name: median(times[name]))


def over(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return how many times as fast the second is, turn by turn."""
    return [their / our for their, our in zip(theirs, ours, strict=True)]


def percent(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return the second's rate in % of the first's, turn by turn."""
    return [100 * one for one in over(theirs, ours)]


def rates(flop: float, us: Sequence[float]) -> list[float]:
    """Return TFLOP/s for each time."""
    return [flop / one / 1e6 for one in us]


def of_baselines(times: Times, name: str) -> Values:
    """Return a contender's rate in % of each baseline's, and of the better one's."""
    found = {f"of_{one}": percent(times[one], times[name]) for one in BASELINES if one in times}
    return found | {"of_better": percent(times[better(times)], times[name])}


def climbed(times: Times, ladder: Sequence[str]) -> dict[str, Values]:
    """Return of each step that ran its speed-up over the first that did and over the one before."""
    steps = [name for name in ladder if name in times]
    found = {name: {"speedup": over(times[steps[0]], times[name])} for name in steps}
    for before, name in pairwise(steps):
        found[name]["gain"] = over(times[before], times[name])
    return found


def of_tensor_rate(
    tflops: Sequence[float], mhz: Sequence[float], flop_per_cycle: float
) -> list[float]:
    """Return each rate in % of what the tensor cores do at the clock seen meanwhile."""
    pairs = zip(tflops, mhz, strict=True)
    return [1e8 * rate / (clock * flop_per_cycle) for rate, clock in pairs if math.isfinite(clock)]


def geometric_means(ratios: Sequence[Sequence[float]]) -> list[float]:
    """Return for each turn the geometric mean over shapes: a row a shape, a value a turn."""
    return [geometric_mean(turn) for turn in zip(*ratios, strict=True)]
