"""The verdict: on which side of a bound an interval lies (docs/statistics.md, "The verdict")."""

import math
from typing import Literal

Ends = tuple[float, float]
Side = Literal["inside", "outside", "undecided"]

THRESHOLD = 0.01
"""Share of itself by which a sampled value must be clear of a bound; less is nothing to act on."""

_EXACT = 1e-9  # relative tolerance for rounding where a bound is met exactly


def decide(ci95: Ends, ci99: Ends, bound: Ends, *, sampled: bool = True) -> Side:
    """Return whether a value lies inside of a bound, by its 95 % interval and its 99 % one.

    A sampled value's 95 % interval has to be clear of the bound by THRESHOLD, its 99 % one clear at
    all. A counted value meets a bound exactly. Bounds are inclusive and may be infinite.
    """
    clear = THRESHOLD if sampled else -_EXACT
    sides = {_side(ci95, bound, clear), _side(ci99, bound, min(clear, 0.0))}
    return sides.pop() if len(sides) == 1 else "undecided"


def _side(ends: Ends, bound: Ends, clear: float) -> Side:
    """Return on which side of a bound one interval lies."""
    (low, high), (least, most) = ends, bound
    if _beyond(low, least, clear) and _beyond(most, high, clear):
        return "inside"
    if _beyond(least, high, clear, strict=True) or _beyond(low, most, clear, strict=True):
        return "outside"
    return "undecided"


def _beyond(more: float, less: float, clear: float, *, strict: bool = False) -> bool:
    """Return whether ``more`` exceeds ``less`` by ``clear`` of the greater of them, in size."""
    if math.isinf(more) or math.isinf(less):
        return more > less
    margin = (abs(clear) if strict else clear) * max(abs(more), abs(less))
    return more > less + margin if strict else more >= less + margin
