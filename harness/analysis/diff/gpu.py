"""The GPU time of a step, A against B: rows whose differences sum to the whole difference."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.analysis.diff import aggregate, step_breakdown
from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.explain import reasons
from harness.analysis.diff.match import Launched, Match, matches
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
_GAPS = {
    "host": "idle while the host computes",
    "launch": "idle while the host is in a CUDA call",
    "wait": "idle while the host waits for the GPU",
}


@dataclass(frozen=True)
class Row:
    """One part of a step on both sides; ``difference`` is of the mean of a step, in ns."""

    kind: Kind
    label: str
    a: Side
    b: Side
    change: Change
    why: tuple[str, ...] = ()
    difference: Difference | None = None

    @property
    def delta_ns(self) -> int:
        """Return B less A over all steps that are compared."""
        return self.b.total_ns - self.a.total_ns


@dataclass(frozen=True)
class GpuDiff:
    """Two captures' steps in parts: ``b_ns - a_ns`` is the sum of the rows' ``delta_ns``.

    ``steps`` are compared, the last ones of each side. ``ranges``: the names that mark them.
    """

    ranges: tuple[str, str]
    steps: int
    a_ns: int
    b_ns: int
    rows: tuple[Row, ...]

    @property
    def busy_ns(self) -> tuple[int, int]:
        """Return the time in which A's and B's GPU did anything: all rows but the gaps."""
        worked = [row for row in self.rows if row.kind != "gap"]
        return sum(row.a.total_ns for row in worked), sum(row.b.total_ns for row in worked)


def compare(a: Tables, b: Tables, name: str | None = None) -> GpuDiff:
    """Return the changes from ``a`` to ``b`` within the steps that ranges ``name`` mark.

    Both have to hold GPU work: ask :func:`harness.analysis.diff.cells.refused` first.
    """
    whole = [step_breakdown.steps(tables, name) for tables in (a, b)]
    count = min(len(side.steps) for side in whole)
    if count > LEAST:
        count -= 1  # the first recorded step pays for the profiler's own warm-up
    first, second = (side.last(count) for side in whole)
    rows = [*_rows("kernel", first, second), *_rows("copy", first, second), *_rest(first, second)]
    total_a, total_b = (sum(step.length_ns for step in side.steps) for side in (first, second))
    judged = _judged(rows, count, THRESHOLD * total_a / count)
    return GpuDiff((first.ranges, second.ranges), count, total_a, total_b, judged)


def _rows(
    kind: Literal["kernel", "copy"], a: step_breakdown.Steps, b: step_breakdown.Steps
) -> list[Row]:
    kinds, matching = (_KERNELS, matches) if kind == "kernel" else (_COPIES, _by_direction)
    before, after = (aggregate.by_name(side, kinds) for side in (a, b))
    rows = []
    for match in matching(aggregate.launched(a, kinds), aggregate.launched(b, kinds)):
        first = aggregate.together([before[kernel.name] for kernel in match.a], len(a.steps))
        second = aggregate.together([after[kernel.name] for kernel in match.b], len(a.steps))
        label, why = (first.names or second.names)[0], reasons(first, second, len(a.steps))
        rows.append(Row(kind, label, first, second, _change(first, second), why))
    return rows


def _by_direction(a: Sequence[Launched], b: Sequence[Launched]) -> list[Match]:
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


def _direction(copy: Launched) -> str:
    return copy.name.partition(" (")[0]


def _rest(a: step_breakdown.Steps, b: step_breakdown.Steps) -> list[Row]:
    """Return the rows of no operation: the overlap, and the gaps by what the host did."""
    streams = [side.ops["stream"].n_unique() for side in (a, b)]
    why = (f"streams {streams[0]} → {streams[1]}",) if streams[0] != streams[1] else ()
    before, after = (
        aggregate.of_times([-step.overlap_ns for step in side.steps]) for side in (a, b)
    )
    change: Change = "changed" if why else "unchanged"
    rows = [Row("overlap", "operations at the same time", before, after, change, why)]
    for at, gap in enumerate(step_breakdown.GAPS):
        before, after = (
            aggregate.of_times([step.gaps_ns[at] for step in side.steps]) for side in (a, b)
        )
        rows.append(Row("gap", _GAPS[gap], before, after, "unchanged"))
    return [row for row in rows if row.a.total_ns or row.b.total_ns or row.why]


def _change(a: Side, b: Side) -> Change:
    if not a.names or not b.names:
        return "removed" if a.names else "added"
    if len(a.names) != len(b.names):
        return "split" if len(a.names) < len(b.names) else "merged"
    same = a.names == b.names and a.count == b.count and a.bytes == b.bytes
    return "unchanged" if same and a.shapes == b.shapes else "changed"


def _judged(rows: Sequence[Row], steps: int, threshold_ns: float) -> tuple[Row, ...]:
    """Return the rows with their intervals: a part unchanged by name may still be slower."""
    level = level_of_each(len(rows))
    return tuple(_judge(row, steps, threshold_ns, level) for row in rows)


def _judge(row: Row, steps: int, threshold_ns: float, level: float) -> Row:
    interval = difference(row.a.by_step, row.b.by_step, level)
    if interval is None and row.a.count == row.b.count:
        each = difference(row.a.each, row.b.each, level)
        interval = each.times(row.a.count / steps) if each else None
    if row.change != "unchanged":
        return replace(row, difference=interval)
    if interval is None:
        return replace(row, change="not judged" if row.delta_ns else "unchanged")
    if not interval.clear_of(threshold_ns):
        return replace(row, difference=interval)
    return replace(
        row, change="slower here" if interval.value > 0 else "faster here", difference=interval
    )
