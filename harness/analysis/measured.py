"""A metric's value as it was measured: what verdicts are decided on and pages print."""

from dataclasses import dataclass

US_OF = {"s": 1e6, "ms": 1e3, "µs": 1.0, "ns": 1e-3}
"""Microseconds of a unit of time."""


@dataclass(frozen=True)
class Measured:
    """A metric's value; ``value`` is None where it was not measured and ``why`` says so.

    ``low`` and ``high`` are the ends of its 99 % interval, which decides a verdict; they equal the
    value for what is counted, not sampled. ``timed``: it is a time, a rate or an energy, in which
    processes differ. ``doubt`` says why the times behind the value are not to be relied on; empty
    if nothing was noticed. ``clock_factor`` is the factor by which clocks or GPUs that differ may
    have moved the value, either way: 1 if there is no doubt, infinite where the factor is not
    known. ``spread``: the least and the largest value of a round, None where it was not measured in
    several.
    """

    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    samples: int = 0
    cells: tuple[str, ...] = ()
    why: str = ""
    doubt: str = ""
    clock_factor: float = 1.0
    timed: bool = False
    spread: tuple[float, float] | None = None
