"""Whether B takes longer than A by more than is allowed: the time that a difference leads with."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from harness.analysis.diff.cells import CellDiff
from harness.analysis.diff.significance import LEAST, difference
from harness.analysis.statistics import LEVEL
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
        reach = _reach(*diff.gpu.each_step)
    elif diff.counters:
        time, reach = "the profiled kernels", None
        a, b = (sum(kernel.time_ns[side] for kernel in diff.counters) for side in (0, 1))
        both = a, b
    else:
        return Judged("time", "undecided", diff.refused[0]) if diff.refused else None
    why = next(_not_comparable(diff), "")
    return Judged(time, "undecided", why) if why else _judged(time, both, reach, most)


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


def _judged(time: str, both: tuple[float, float], reach: float | None, most: float) -> Judged:
    """Judge the ratio of two times: it passes or fails only with the whole of its interval.

    ``reach``: the half-width of the interval of the ratio's logarithm, None where it is not known.
    """
    a, b = both
    if not a or not b:
        return Judged(time, "undecided", "a time is zero")
    factor = b / a
    if reach is None:
        outcome: Outcome = "failed" if factor > most else "passed"
        return Judged(time, outcome, f"no spread is known without {LEAST} steps of each", factor)
    low, high = factor * math.exp(-reach), factor * math.exp(reach)
    if low <= most < high:
        why = "what is allowed lies within the spread of steps"
        return Judged(time, "undecided", why, factor, low, high)
    return Judged(time, "failed" if low > most else "passed", "", factor, low, high)


def _reach(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the half-width of the interval of log(mean(b) / mean(a)); None of too few steps.

    A small change of a logarithm is the relative change, so it is Welch's for steps in units of
    their side's mean.
    """
    if not sum(a) or not sum(b):
        return None
    before, after = ([step / fmean(side) for step in side] for side in (a, b))
    spread = difference(before, after, LEVEL)
    return spread.high - spread.value if spread else None
