"""Between which two of several versions a value changes, found by halving.

The versions lie in their order, such as releases of a library. The first and the last are measured,
then the middle one of the versions that remain: the half with the greater ratio has the change, as
long as one change outweighs the others. A version that gives no value is passed over.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.analysis.measured import Measured
from harness.analysis.verdict import verdict
from harness.problem.model import Bound

Measure = Callable[[Sequence[str]], None]
"""Measures these versions, so that their ratios are known."""
Ratio = Callable[[str, str], Measured]
"""The value of one version over another's."""

_ALIKE = Bound(between=(1.0, 1.0))


@dataclass(frozen=True)
class Change:
    """What a value does between two versions: ``ratio`` is ``after`` over ``before``.

    ``measured`` are the versions that were measured, ``without`` those that gave no value; both in
    the order of the versions.
    """

    before: str
    after: str
    ratio: Measured
    measured: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def is_told(self) -> bool:
        """Whether the interval of the ratio is clear of 1, from processes enough to judge."""
        return tells(self.ratio)


def tells(ratio: Measured) -> bool:
    """Return whether a ratio is told from 1, as a claim that bounds it to 1 is refuted."""
    return verdict(ratio, _ALIKE) == "refuted"


def change(versions: Sequence[str], measure: Measure, ratio: Ratio) -> Change:
    """Return the neighbours between which most of the change from the first to the last lies.

    Where first and last do not differ, it is of these two. ValueError where one of them gives no
    value, or there are fewer than two.
    """
    if len(versions) < 2:
        raise ValueError("a change lies between two versions: name two or more")
    left = list(versions)
    measured, without = {left[0], left[-1]}, set[str]()
    measure([left[0], left[-1]])
    whole = ratio(left[-1], left[0])
    if whole.value is None:
        raise ValueError(f"no value of the first or the last version: {whole.why}")
    while tells(whole) and len(left) > 2:
        middle = len(left) // 2
        name = left[middle]
        measure([name])
        lower, upper = ratio(name, left[0]), ratio(left[-1], name)
        if lower.value is None or upper.value is None:
            without.add(left.pop(middle))
            continue
        measured.add(name)
        left = left[: middle + 1] if _size(lower) >= _size(upper) else left[middle:]
    before, after = left[0], left[-1]
    return Change(before, after, ratio(after, before), *_in_order(versions, measured, without))


def _size(ratio: Measured) -> float:
    return abs(math.log(ratio.value)) if ratio.value and ratio.value > 0 else 0.0


def _in_order(versions: Sequence[str], *chosen: set[str]) -> list[tuple[str, ...]]:
    return [tuple(name for name in versions if name in names) for names in chosen]
