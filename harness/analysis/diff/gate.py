"""Whether B takes longer than A by more than is allowed: the time that a difference leads with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.analysis.diff.cells import CellDiff
from harness.analysis.diff.significance import LEAST, difference
from harness.analysis.statistics import LEVEL
from harness.analysis.students_t import Difference
from harness.analysis.units import counted

_DECISIVE = ("GPU", "clock control", "cache control")
"""Conditions that set a kernel's time under Nsight Compute."""

Outcome = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Judged:
    """A time in B over that in A, ``factor``, held against what is allowed, and what it rests on.

    ``low`` and ``high``: the ends of its 99 % interval by the steps, None where these are too few.
    All three are None where the two cannot be compared.
    """

    time: str
    outcome: Outcome
    why: str = ""
    factor: float | None = None
    low: float | None = None
    high: float | None = None


def judged(diff: CellDiff, most: float) -> Judged | None:
    """Return the time of a step, else of the profiled kernels, held against a ratio of ``most``.

    None where the two hold neither, as captures of memory do.
    """
    if diff.gpu:
        time = "a step" if any(diff.gpu.ranges) else "the capture"
        both = diff.gpu.a_step(diff.gpu.a_ns, diff.gpu.b_ns)
        spread = difference(*diff.gpu.each_step, LEVEL)
    elif diff.counters:
        time, spread = "the profiled kernels", None
        a, b = (sum(kernel.time_ns[side] for kernel in diff.counters) for side in (0, 1))
        both = a, b
    else:
        return Judged("time", "undecided", diff.refused[0]) if diff.refused else None
    why = next(_not_comparable(diff), "")
    return Judged(time, "undecided", why) if why else _judged(time, both, spread, most)


def _not_comparable(diff: CellDiff) -> Iterator[str]:
    """Yield each reason not to take a difference in time as one of the same work."""
    if diff.gpu:
        yield from diff.unlike
        kernels = [row for row in diff.gpu.rows if row.kind == "kernel"]
        launches = [sum(getattr(row, side).count for row in kernels) for side in ("a", "b")]
        if not any(diff.gpu.ranges) and launches[0] != launches[1]:
            held = f"A holds {counted(launches[0], 'kernel')}, B {launches[1]}"
            yield f"{held}, perhaps of more steps: mark the steps, or name their range"
        return
    for each in diff.differing:
        if each.what in _DECISIVE:
            yield f"{each.what}: {each.a} in A, {each.b} in B"
    counts = [sum(kernel.launches[side] for kernel in diff.counters) for side in (0, 1)]
    if counts[0] != counts[1]:
        yield f"A holds {counted(counts[0], 'profiled kernel')}, B {counts[1]}"


def _judged(time: str, both: tuple[float, float], spread: Difference | None, most: float) -> Judged:
    """Judge the ratio of two times; it fails only where the whole interval is above ``most``."""
    a, b = both
    if not a or not b:
        return Judged(time, "undecided", "a time is zero")
    factor = b / a
    outcome: Outcome = "failed" if factor > most else "passed"
    if spread is None:
        return Judged(time, outcome, f"no spread is known without {LEAST} steps of each", factor)
    low, high = (max(0.0, 1 + end / a) for end in (spread.low, spread.high))
    if not low <= most < high:
        return Judged(time, outcome, "", factor, low, high)
    outcome = "undecided" if outcome == "failed" else outcome
    why = "what is allowed lies within the spread of steps"
    return Judged(time, outcome, why, factor, low, high)
