"""What the files of tests/battery share: how many rounds they make and how they state counts."""

import os
from typing import Protocol

SCALE = float(os.environ.get("WORKLOGS_BATTERY_SCALE", "1"))


class Figures(Protocol):
    """Note a test's counts by name: how much was tried and how much held."""

    def __call__(self, **counts: float) -> None:
        """Keep ``counts`` under the test's name."""


def rounds(in_ci: int) -> int:
    """Return how many rounds to make where CI makes ``in_ci``, at least one."""
    return max(1, round(in_ci * SCALE))
