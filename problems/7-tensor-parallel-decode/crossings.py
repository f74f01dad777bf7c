"""From which size on one way to sum takes less time than another."""

from itertools import pairwise

Taken = dict[int, dict[str, float]]
"""µs of an all-reduce by size in KiB, then by way."""
PAIRS = (
    ("packed", "one-shot"),
    ("packed", "two-shot"),
    ("one-shot", "two-shot"),
    ("any-packed-one-shot", "any-packed-two-shot"),
    ("any-packed-one-shot", "any-two-shot"),
    ("any-one-shot", "any-two-shot"),
    ("any-one-shot", "any-ring"),
    ("any-doubling", "any-ring"),
    ("any-tree", "any-ring"),
    ("any-two-shot", "nccl"),
)
"""What is faster for small messages, then what may be for large ones. Each pair's kernels differ in
what they send and wait for, NCCL's aside."""


def crossings(taken: Taken) -> dict[str, float]:
    """Return the KiB where the ways of each pair cross, by "first-to-second"; some never do."""
    found = {}
    for first, second in PAIRS:
        apart = {
            kb: us[first] - us[second] for kb, us in taken.items() if first in us and second in us
        }
        kib = crossing(apart)
        if kib is not None:
            found[f"{first}-to-{second}"] = kib
    return found


def crossing(apart: dict[int, float]) -> float | None:
    """Return the size at which a difference changes its sign for the last time, upwards.

    ``apart``: by size, rising. A straight line between sizes is what bytes and signals ask for.
    None unless the difference is negative at the least size and positive at the largest.
    """
    points = list(apart.items())
    if not points or not points[0][1] < 0 < points[-1][1]:
        return None
    low, high = [pair for pair in pairwise(points) if pair[0][1] <= 0 < pair[1][1]][-1]
    return low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])
