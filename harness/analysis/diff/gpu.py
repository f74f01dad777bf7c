"""The GPU time of a step, A against B: rows whose differences sum to the whole difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from harness.analysis.busy import WHOLE
from harness.analysis.diff import aggregate, step_breakdown
from harness.analysis.diff.aggregate import Aggregate
from harness.analysis.diff.match import LaunchedKernel, Match, matches
from harness.analysis.diff.names import changed_words, stem
from harness.analysis.diff.significance import LEAST, difference, level_of_each
from harness.analysis.students_t import Difference
from harness.analysis.verdict import THRESHOLD
from harness.evidence.tables import Tables

Kind = Literal["kernel", "copy", "overlap", "gap"]
Exact = Literal["unchanged", "changed", "added", "removed", "split", "merged"]
Change = Exact | Literal["slower here", "faster here", "not judged"]
"""How a part changed. An Exact change shows in names, counts, shapes, bytes or streams.

"slower here": the same launches, clearly slower than in this other process. With one process a side
nobody knows whether another pair would differ as much, so the part is not called changed. "not
judged": seen too few times to say even that.
"""
_KERNELS, _COPIES = ("kernel", "graph"), ("copy", "memset")
_ARROW = " → "
_LABELS = {"grid": "grid", "block": "block", "registers": "registers", "shared_bytes": "shared B"}
_GAPS = {
    "host": "idle while the host computes",
    "launch": "idle while the host is in a CUDA call",
    "wait": "idle while the host waits for the GPU",
}


@dataclass(frozen=True)
class DiffRow:
    """One part of a step on both sides; ``difference`` is of the mean of a step, in ns.

    ``calls``: of a gap, the CUDA calls that the host was in, with A's and B's ns, by their change.
    """

    kind: Kind
    label: str
    a: Aggregate
    b: Aggregate
    change: Change
    why: tuple[str, ...] = ()
    difference: Difference | None = None
    calls: tuple[tuple[str, int, int], ...] = ()

    @property
    def delta_ns(self) -> int:
        """Return B less A over all steps that are compared."""
        return self.b.total_ns - self.a.total_ns


@dataclass(frozen=True)
class GpuDiff:
    """Two captures' steps in parts: ``b_ns - a_ns`` is the sum of the rows' ``delta_ns``.

    ``steps`` are compared, the last ones of each side. ``ranges``: the names that mark them;
    ``marked``: how many of these ranges A and B ran into one step. ``gpus``: how many GPUs the
    times are summed over; ``devices`` holds each GPU alone where both sides have the same several.
    ``recorded``: how many steps A and B hold. ``step``: in words, the steps that are compared.
    """

    ranges: tuple[str, str]
    steps: int
    a_ns: int
    b_ns: int
    rows: tuple[DiffRow, ...]
    marked: tuple[int, int] = (1, 1)
    gpus: tuple[int, int] = (1, 1)
    devices: Mapping[str, "GpuDiff"] = field(default_factory=dict)
    recorded: tuple[int, int] = (1, 1)
    step: tuple[str, str] = (WHOLE, WHOLE)

    @property
    def busy_ns(self) -> tuple[int, int]:
        """Return the time in which A's and B's GPU did anything: all rows but the gaps."""
        worked = [row for row in self.rows if row.kind != "gap"]
        return sum(row.a.total_ns for row in worked), sum(row.b.total_ns for row in worked)

    @property
    def per(self) -> tuple[int, int]:
        """Return what to divide A's and B's times by, for a step of one GPU."""
        return (
            self.steps * self.marked[0] * self.gpus[0],
            self.steps * self.marked[1] * self.gpus[1],
        )

    def a_step(self, a_ns: float, b_ns: float) -> tuple[float, float]:
        """Return times of A and B in ns a step and GPU."""
        return a_ns / self.per[0], b_ns / self.per[1]

    def change_ns(self, row: DiffRow) -> float:
        """Return B less A of a part in ns a step and GPU."""
        a, b = self.a_step(row.a.total_ns, row.b.total_ns)
        return b - a

    @property
    def each_step(self) -> tuple[list[float], list[float]]:
        """Return the length of each of A's and B's steps, in ns a step and GPU."""
        sides = zip(*((row.a.by_step, row.b.by_step) for row in self.rows), strict=True)
        a, b = (
            [sum(parts) * self.steps / per for parts in zip(*side, strict=True)]
            for side, per in zip(sides, self.per, strict=True)
        )
        return a, b

    @property
    def whole_change_ns(self) -> float:
        """Return B less A in ns a step and GPU."""
        a, b = self.a_step(self.a_ns, self.b_ns)
        return b - a


def compare(a: Tables, b: Tables, name: str | None = None) -> GpuDiff:
    """Return the changes from ``a`` to ``b`` within the steps that ranges ``name`` mark.

    Both have to hold GPU work: ask :func:`harness.analysis.diff.cells.refused` first.
    """
    whole = step_breakdown.of_both(a, b, name)
    count = min(side.count for side in whole)
    if count > LEAST:
        count -= 1  # the first recorded step pays for the profiler's own warm-up
    first, second = (side.last(count) for side in whole)
    numbers = [list(side.by_device) for side in (first, second)]
    each = numbers[0] if numbers[0] == numbers[1] and len(numbers[0]) > 1 else []
    devices = {str(device): _compared(first.on(device), second.on(device)) for device in each}
    recorded = whole[0].count * whole[0].marked, whole[1].count * whole[1].marked
    diff = replace(_compared(first, second), devices=devices, recorded=recorded)
    held = (
        step_breakdown.idle_by_call(first, a["api_calls"]),
        step_breakdown.idle_by_call(second, b["api_calls"]),
    )
    return replace(diff, rows=tuple(_with_calls(row, diff, *held) for row in diff.rows))


def _with_calls(row: DiffRow, diff: GpuDiff, a: Mapping[str, int], b: Mapping[str, int]) -> DiffRow:
    """Return a gap with the calls of its kind, those first whose time changed most."""
    if row.label not in (_GAPS["launch"], _GAPS["wait"]):
        return row
    waits = row.label == _GAPS["wait"]
    names = [name for name in {**a, **b} if step_breakdown.waits(name) == waits]
    calls = [(name, a.get(name, 0), b.get(name, 0)) for name in names]

    def size(call: tuple[str, int, int]) -> float:
        before, after = diff.a_step(*call[1:])
        return -abs(after - before)

    return replace(row, calls=tuple(sorted(calls, key=size)))


def _compared(a: step_breakdown.Breakdown, b: step_breakdown.Breakdown) -> GpuDiff:
    """Return the difference of as many steps of each side, over all of their devices."""
    diff = GpuDiff(
        (a.step.ranges, b.step.ranges),
        a.count,
        sum(step.length_ns for step in a.steps),
        sum(step.length_ns for step in b.steps),
        (),
        marked=(a.marked, b.marked),
        gpus=(len(a.by_device), len(b.by_device)),
        step=(_words(a), _words(b)),
    )
    rows = [*_rows("kernel", a, b, diff), *_rows("copy", a, b, diff), *_rest(a, b)]
    level = level_of_each(len(rows))
    return replace(diff, rows=tuple(_judge(row, diff, level) for row in rows))


def _words(side: step_breakdown.Breakdown) -> str:
    """Return what steps a side has; those of other rules begin with their first operation."""
    return f"{side.step.of}{' with its range' * side.step.is_apart}"


def _rows(
    kind: Literal["kernel", "copy"],
    a: step_breakdown.Breakdown,
    b: step_breakdown.Breakdown,
    diff: GpuDiff,
) -> list[DiffRow]:
    kinds, matching = (_KERNELS, matches) if kind == "kernel" else (_COPIES, _by_direction)
    before, after = (aggregate.by_name(side, kinds) for side in (a, b))
    rows = []
    for match in matching(aggregate.launched(a, kinds), aggregate.launched(b, kinds)):
        first = aggregate.together([before[kernel.name] for kernel in match.a], a.count)
        second = aggregate.together([after[kernel.name] for kernel in match.b], b.count)
        label, why = (first.names or second.names)[0], _reasons(first, second, diff.per)
        rows.append(DiffRow(kind, label, first, second, _change(first, second, diff), why))
    return rows


def _by_direction(a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel]) -> list[Match]:
    """Match copies by name, else by direction: pageable memory made pinned is one copy changed."""
    left = [copy for copy in a if copy.name not in {candidate.name for candidate in b}]
    free = [candidate for candidate in b if candidate.name not in {copy.name for copy in a}]
    matched = [
        Match((copy,), (candidate,)) for copy in a for candidate in b if copy.name == candidate.name
    ]
    for copy in left:
        alike = [candidate for candidate in free if _direction(candidate) == _direction(copy)][:1]
        free = [candidate for candidate in free if candidate not in alike]
        matched.append(Match((copy,), tuple(alike)))
    return matched + [Match((), (candidate,)) for candidate in free]


def _direction(copy: LaunchedKernel) -> str:
    return copy.name.partition(" (")[0]


def _rest(a: step_breakdown.Breakdown, b: step_breakdown.Breakdown) -> list[DiffRow]:
    """Return the rows of no operation: the overlap, and the gaps by what the host did."""
    streams = [side.ops["stream"].n_unique() for side in (a, b)]
    why = (f"streams {streams[0]} → {streams[1]}",) if streams[0] != streams[1] else ()
    before, after = (
        aggregate.of_times([-step.overlap_ns for step in side.steps]) for side in (a, b)
    )
    change: Change = "changed" if why else "unchanged"
    rows = [DiffRow("overlap", "operations at the same time", before, after, change, why)]
    for at, gap in enumerate(step_breakdown.GAPS):
        before, after = (
            aggregate.of_times([step.gaps_ns[at] for step in side.steps]) for side in (a, b)
        )
        rows.append(DiffRow("gap", _GAPS[gap], before, after, "unchanged"))
    return [row for row in rows if row.a.total_ns or row.b.total_ns or row.why]


def _change(a: Aggregate, b: Aggregate, diff: GpuDiff) -> Change:
    if not a.names or not b.names:
        return "removed" if a.names else "added"
    if len(a.names) != len(b.names):
        return "split" if len(a.names) < len(b.names) else "merged"
    amounts = (diff.a_step(a.count, b.count), diff.a_step(a.bytes or 0, b.bytes or 0))
    same = a.names == b.names and all(before == after for before, after in amounts)
    return "unchanged" if same and a.shapes == b.shapes else "changed"


def _judge(row: DiffRow, diff: GpuDiff, level: float) -> DiffRow:
    """Return a part with its interval: one that is unchanged by name may still be slower."""
    interval = _interval(row, diff, level)
    if row.change != "unchanged":
        return replace(row, difference=interval)
    if interval is None:
        return replace(row, change="not judged" if diff.change_ns(row) else "unchanged")
    if not interval.clear_of(THRESHOLD * diff.a_ns / diff.per[0]):
        return replace(row, difference=interval)
    return replace(
        row, change="slower here" if interval.value > 0 else "faster here", difference=interval
    )


def _interval(row: DiffRow, diff: GpuDiff, level: float) -> Difference | None:
    """Return the change of a step and GPU with its interval, from the steps or from the launches.

    None where both are too few.
    """
    before, after = (
        [total * diff.steps / per for total in side.by_step]
        for side, per in zip((row.a, row.b), diff.per, strict=True)
    )
    interval = difference(before, after, level)
    launches = diff.a_step(row.a.count, row.b.count)
    if interval is None and launches[0] == launches[1]:
        each = difference(row.a.each, row.b.each, level)
        return each.times(launches[0]) if each else None
    return interval


def _reasons(a: Aggregate, b: Aggregate, per: tuple[int, int]) -> tuple[str, ...]:
    """Return the differences between two sides of one row, the most informative first.

    ``per``: the number of steps and GPUs that A and B are summed over.
    """
    if not a.names or not b.names:
        return (f"{_a_step(a.count, per[0]) if a.names else _a_step(b.count, per[1])} a step",)
    differences = []
    if len(a.names) != len(b.names):
        kernels = "kernel" if len(a.names) == 1 else "kernels"
        differences.append(f"{len(a.names)} {kernels} → {len(b.names)}")
    counts = _a_step(a.count, per[0]), _a_step(b.count, per[1])
    if counts[0] != counts[1]:
        differences.append(f"launches per step {_ARROW.join(counts)}")
    sizes = _a_step(a.bytes or 0, per[0]), _a_step(b.bytes or 0, per[1])
    if None not in (a.bytes, b.bytes) and sizes[0] != sizes[1]:
        differences.append(f"bytes per step {_ARROW.join(sizes)}")
    if len(a.names) == len(b.names) == 1:
        differences += _of_one_kernel(a, b)
    if a.total_ns and b.total_ns and len(a.names) == len(b.names):
        ratio = b.total_ns * a.count / (a.total_ns * b.count)
        differences.append(f"each {ratio:.2f}× as long")
    return tuple(differences)


def _of_one_kernel(a: Aggregate, b: Aggregate) -> list[str]:
    """Return the differences in name and launch shape between one kernel and another."""
    differences = []
    is_copy = a.bytes is not None
    if a.names != b.names and (is_copy or stem(a.names[0]) == stem(b.names[0])):
        before, after = changed_words(a.names[0], b.names[0])
        differences.append(f"{before or 'nothing'} → {after or 'nothing'}")
    elif a.names != b.names:
        differences.append("another kernel in its place")
    shapes = dict(b.shapes)
    return differences + [
        f"{_LABELS[key]} {value} → {shapes[key]}"
        for key, value in a.shapes
        if shapes.get(key, value) != value
    ]


def _a_step(total: int, steps: int) -> str:
    return f"{total / steps:.6g}"
