"""Whether two sets of repeated times differ, by an interval and never by a fixed percentage."""

from collections.abc import Sequence

from harness.analysis import students_t
from harness.analysis.students_t import Difference

LEAST = 3
"""Repetitions of a side, below which its spread is not known."""


def difference(a: Sequence[float], b: Sequence[float], level: float) -> Difference | None:
    """Return mean(b) - mean(a) with its interval; None with fewer than three values a side."""
    return None if min(len(a), len(b)) < LEAST else students_t.difference(a, b, level)


def level_of_each(tests: int) -> float:
    """Return the level at which each of ``tests`` intervals is taken, so that all hold with 99 %.

    By Bonferroni's inequality.
    """
    return 1 - 0.01 / max(1, tests)
