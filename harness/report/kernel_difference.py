"""Counters of Nsight Compute, A against B: what explains the time of each kernel, largest first."""

from collections.abc import Sequence

from harness.analysis.diff.counters import KernelCounters, slowest
from harness.analysis.diff.effects import Effect
from harness.analysis.kernels import short_name
from harness.analysis.verdict import THRESHOLD
from harness.report.numbers import number
from harness.report.section_text import Section
from harness.report.signs import signed, with_sign

_MOST_KERNELS, _MOST_EFFECTS, _MOST_ROWS = 4, 10, 12
_NAME = 44
"""Characters of a kernel's name."""
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
    """Return all kernels with their times, and a section for each that changed most."""
    changed = slowest(diff, _MOST_KERNELS)
    if not diff:
        return []
    if not changed:
        return [Section("Counters", lines=[kernels_headline(diff)])]
    explained = [_kernel(kernel) for kernel in changed if kernel.effects or len(diff) == 1]
    return [*([_all(diff)] if len(diff) > 1 else []), *explained]


def kernels_headline(diff: Sequence[KernelCounters]) -> str:
    """Return how the profiled kernels' time changed, and the largest change; one kernel at least.

    The first of them is the one whose time changed most.
    """
    largest = _sentence(diff[0])
    if not slowest(diff, 1):
        same = "No kernel's time under Nsight Compute changed by more than a hundredth of all."
        return f"{same} {_capitalised(largest)}"
    if len(diff) == 1:
        return _capitalised(largest)
    a, b = (sum(kernel.time_ns[side] for kernel in diff) for side in (0, 1))
    return f"The profiled kernels {_taken(a, b)}; the largest change: {largest}"


def _all(diff: Sequence[KernelCounters]) -> Section:
    """Return the kernels by the change of all their launches, which sum to the whole."""
    rows = [_times(_name(kernel), [kernel]) for kernel in diff[:_MOST_ROWS]]
    rest = diff[_MOST_ROWS:]
    if rest:
        rows.append(_times(f"{len(rest)} other kernels", rest))
    head = ["kernel", "launches, A", "B", "A, µs", "B, µs", "change"]
    return Section(
        "Profiled kernels", head, [*rows, _times("all", diff)], lead=kernels_headline(diff)
    )


def _times(label: str, group: Sequence[KernelCounters]) -> list[str]:
    counts = [str(sum(kernel.launches[side] for kernel in group)) for side in (0, 1)]
    a, b = (sum(kernel.time_ns[side] for kernel in group) / 1e3 for side in (0, 1))
    return [label, *counts, f"{a:.1f}", f"{b:.1f}", with_sign(b - a, f"{abs(b - a):.1f}")]


def _taken(a_ns: float, b_ns: float) -> str:
    """Return how long something takes in B, and both times."""
    times = f"({number(a_ns / 1e3)} → {number(b_ns / 1e3)} µs)"
    ratio = f"{number(b_ns / a_ns)}× as long" if a_ns and b_ns else "another time"
    return f"take {ratio} {times}"


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
    lead = _capitalised(_sentence(kernel))
    return Section(title, head, rows, lines, lead, names, brief=names)


def _name(kernel: KernelCounters) -> str:
    if not kernel.a or not kernel.b:
        return f"{_first(kernel.b or kernel.a)} ({'new' if kernel.b else 'gone'})"
    names = [_first(side) for side in (kernel.a, kernel.b)]
    return names[0] if names[0] == names[1] else _ARROW.join(names)


def _first(names: Sequence[str]) -> str:
    """Return the first of some kernels by its short name, and how many more there are."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{short_name(names[0], _NAME)}{more}"


def _sentence(kernel: KernelCounters) -> str:
    """Return how the kernel's time changed, and the counter that explains it."""
    name, launches = _name(kernel), "launch" if max(kernel.launches) == 1 else "launches"
    if not kernel.a or not kernel.b:
        count, time = max(kernel.launches), number(max(kernel.time_ns) / 1e3)
        what = "new" if kernel.b else "gone"
        return f"kernel {_first(kernel.b or kernel.a)} is {what}, {count} {launches}, {time} µs."
    if kernel.launch_ns is None:
        return f"all launches of {name} {_taken(*kernel.time_ns)}."
    a, b = kernel.launch_ns
    counts = ""
    if kernel.launches[0] != kernel.launches[1]:
        counts = f", {kernel.launches[1]} launches instead of {kernel.launches[0]}"
    start = f"a launch of {name} {_taken(a, b).replace('take', 'takes', 1)}{counts}"
    if kernel.cause is not None:
        return f"{start}: {_because(kernel.cause)}."
    same = abs(b - a) < THRESHOLD * a
    return f"{start}{'' if same else ': no counter of both reports explains it'}."


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


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
