"""What the files of tests/battery share: how many rounds they make, which, and their counts.

A change is attacked with a tenth of the rounds, another tenth each day; `make battery` makes all.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

SCALE = float(os.environ.get("WORKLOGS_BATTERY_SCALE", "0.1"))
WHOLE = SCALE >= 1
_TODAY = str(datetime.now(UTC).date().toordinal())
SEED = int(os.environ.setdefault("WORKLOGS_BATTERY_SEED", _TODAY))
"""Moves all seeds; the workers of a test run inherit it."""

T = TypeVar("T")


class Figures(Protocol):
    """Note a test's counts by name: how much was tried and how much held."""

    def __call__(self, **counts: float) -> None:
        """Keep ``counts`` under the test's name."""


def rounds(whole: int) -> int:
    """Return how many rounds to make where `make battery` makes ``whole``, at least one."""
    return max(1, round(whole * SCALE))


def seeded(own: int) -> int:
    """Return the seed of a file whose seed is ``own`` where WORKLOGS_BATTERY_SEED is 0."""
    return own + 1000 * SEED


def part(items: Sequence[T], least: float = 0.0) -> list[T]:
    """Return this run's share of ``items``: all, or every tenth from where the seed says.

    ``least``: the smallest share, where a tenth is too few.
    """
    count = max(rounds(len(items)), round(least * len(items)))
    every = len(items) // count if not WHOLE else 1
    return list(items[SEED % every :: every])
