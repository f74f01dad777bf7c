"""Counters of Nsight Compute, A against B: what explains the time of each kernel, largest first."""

from collections.abc import Sequence

from harness.analysis.diff.counters import KernelCounters, slowest
from harness.analysis.diff.effects import Effect
from harness.analysis.kernels import short_name
from harness.analysis.verdict import THRESHOLD
from harness.report.numbers import number
from harness.report.section_text import Section
from harness.report.signs import signed

_MOST_KERNELS, _MOST_EFFECTS = 4, 10
_ARROW = " → "
_MEANING = (
    "µs: what a counter accounts for of a launch: a unit at its peak rate, the states of the warps"
    " by their share. Units work at the same time, so only the states sum."
)
_STATES = {
    "barrier": "waited at barriers",
    "lg throttle": "waited for the full queue of global and local memory",
    "long scoreboard": "waited for global or local memory",
    "math pipe throttle": "waited for a busy math pipe",
    "mio throttle": "waited for the full queue of shared memory and special functions",
    "short scoreboard": "waited for shared memory",
    "wait": "waited for instructions of fixed latency",
}
"""State of a warp in Nsight Compute's names ("Warp Stall Reasons") to what the warp did in it."""


def kernels(diff: Sequence[KernelCounters]) -> list[Section]:
    """Return a section for each kernel whose time under Nsight Compute changed most."""
    changed = [_kernel(kernel) for kernel in slowest(diff, _MOST_KERNELS)]
    if changed or not diff:
        return changed
    same = "No kernel's time under Nsight Compute changed by more than a hundredth of all."
    return [Section("Counters", lines=[f"{same} {_sentence(diff[0])}"])]


def _kernel(kernel: KernelCounters) -> Section:
    """Return the section of one kernel: its cause, what its counters account for, its factors."""
    shown = kernel.effects[:_MOST_EFFECTS]
    rows = [
        [
            effect.what,
            number(effect.a),
            number(effect.b),
            *(number(time / 1e3) for time in effect.time_ns),
            signed(effect.change_ns / 1e3),
        ]
        for effect in shown
    ]
    lines = [
        f"A launch takes {number(factor.amount_ratio / factor.rate_ratio)}× as long:"
        f" {number(factor.amount_ratio)}× the {factor.amount}"
        f" at {number(factor.rate_ratio)}× the {factor.rate}."
        for factor in kernel.factors
    ]
    if rows:
        lines.insert(0, _MEANING)
    names = [f"{effect.what}: {effect.metric}" for effect in shown]
    head = ["counter", "A", "B", "A, µs", "B, µs", "change"]
    title = f"Counters: {_name(kernel)}"
    return Section(title, head, rows, lines, _sentence(kernel), names, brief=names)


def _name(kernel: KernelCounters) -> str:
    names = [", ".join(map(short_name, side)) or "nothing" for side in (kernel.a, kernel.b)]
    return names[0] if names[0] == names[1] else _ARROW.join(names)


def _sentence(kernel: KernelCounters) -> str:
    """Return how the kernel's time changed, and the counter that explains it."""
    name = _name(kernel)
    a, b = kernel.launch_ns or kernel.time_ns
    times = f"{number(a / 1e3)} → {number(b / 1e3)} µs"
    which = "a launch of" if kernel.launch_ns and max(kernel.launches) > 1 else "kernel"
    taken = f"takes {number(b / a)}× as long" if a and b else "changed"
    counts = ""
    if kernel.launches[0] != kernel.launches[1]:
        counts = f", launched {kernel.launches[1]} instead of {kernel.launches[0]} times"
    start = f"{which} {name} {taken} ({times}){counts}"
    start = start[0].upper() + start[1:]
    if kernel.cause is None:
        told = not kernel.launch_ns or abs(b - a) < THRESHOLD * a
        return f"{start}{'' if told else ': no counter of both reports explains it'}."
    return f"{start}: {_because(kernel.cause)}."


def _because(cause: Effect) -> str:
    """Return the cause in words, with the counter's values and the time that they explain."""
    what, unit = cause.what.removesuffix(", %"), " %" if cause.what.endswith("%") else ""
    values = f"{number(cause.a)}{unit} → {number(cause.b)}{unit}"
    by = number(abs(cause.change_ns) / 1e3)
    less = "less" if cause.change_ns < 0 else "more"
    if cause.group == "state":
        state = _STATES.get(what.removeprefix("warps: "), f"were in state {what[7:]}")
        return f"warps {state} for {by} µs {less} ({what[7:]}, {values} of the time)"
    if cause.group in ("work", "clock", "occupancy"):
        return f"{what} {values}, which explains up to {by} µs"
    if cause.group == "unit":
        return f"{what} {values}, {by} µs {less} of this work"
    return f"{what} {values}, which cost {by} µs {less}"
