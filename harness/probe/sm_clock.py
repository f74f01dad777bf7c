"""The clock that the multiprocessors ran at, from counters that a kernel reads on each of them.

NVML reports the clock of one moment. Under a load that meets a limit of power or current the clock
changes faster than NVML can be asked, within a single kernel; the counters miss nothing. Reading
them takes a kernel, which a problem brings along; here are what it has to offer and the arithmetic.
"""

from collections.abc import Sequence
from statistics import median
from typing import Protocol

Counters = Sequence[Sequence[int]]
"""A row a multiprocessor: its cycles (clock64) and ns (globaltimer); zeros where there is none."""


class ClockReader(Protocol):
    """Reads every multiprocessor's counters at a begin and at an end, on torch's current stream."""

    def mark(self, end: bool) -> None:
        """Read the counters when the stream gets here; returns at once."""
        ...

    def mhz(self) -> float:
        """Wait for the end and return the mean clock from begin to end, in MHz."""
        ...


def between(begin: Counters, end: Counters) -> float:
    """Return the clock in MHz of the median multiprocessor that both readings have."""
    return median(
        (last[0] - first[0]) / (last[1] - first[1]) * 1e3
        for first, last in zip(begin, end, strict=True)
        if first[1] and last[1]
    )
