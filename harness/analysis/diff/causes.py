"""The largest cause of a step's change: one part of it, or parts that changed in the same way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.analysis.diff.work import work_ratio

What = Literal["one part", "idle", "launches", "kernels", "slower", "faster"]
_ALONE = 0.75
"""Share of parts that changed alike from which the largest of them is named alone."""
_SAME_EACH = 0.1
"""Relative change of a launch's time, or of copied bytes, below which the work counts as the same.
"""
_DIRECT = 0.5
"""Share of the largest change from which a change of the program goes before one of times only.

Kernels that share the GPU, and idle time, follow what the program does.
"""
_LUCK = 0.2
"""Relative change of one kernel's or copy's time that two processes of one program can differ by.

Copies of the four equal processes of tests/data/differences differ by up to an eighth.
"""
_PAGEABLE, _LEAST_COPY = "Pageable", 0.02


@dataclass(frozen=True)
class Cause:
    """Parts of a step that changed together, and their times in ns a step and GPU.

    ``what``: "one part"; or several: "idle" time, "launches" of the same kernels more or less
    often, other "kernels" in B than in A, launches that became "slower" or "faster". ``share`` is
    of the step's change, None where the parts of a step largely cancel out. B's times are for as
    much work as A's (:func:`harness.analysis.diff.work.work_ratio`).
    """

    what: What
    rows: tuple[DiffRow, ...]
    a_ns: float
    b_ns: float
    share: float | None

    @property
    def change_ns(self) -> float:
        """Return B less A."""
        return self.b_ns - self.a_ns


def switched(row: DiffRow) -> bool:
    """Return whether copies use pageable memory on one side and pinned memory on the other."""
    memory = [any(_PAGEABLE in name for name in side.names) for side in (row.a, row.b)]
    return row.kind == "copy" and bool(row.a.names and row.b.names) and memory[0] != memory[1]


def _same_bytes(row: DiffRow, diff: GpuDiff) -> bool:
    """Return whether a step copies about as many bytes on both sides."""
    before, after = diff.a_step(row.a.bytes or 0, row.b.bytes or 0)
    return abs(after - before) <= _SAME_EACH * before


def largest(diff: GpuDiff) -> Cause | None:
    """Return the cause that explains most of what changed, None if nothing is known to change.

    Parts whose interval holds zero are left out. Of the others those count that changed in the
    direction in which all of them together did, and what the program does differently goes first.
    """
    rows = [row for row in diff.rows if _known(row)]
    if any(_exact(row) for row in rows):
        rows = [row for row in rows if _exact(row) or not _may_be_luck(row)]
    together = _cause(diff, "one part", rows).change_ns
    candidates = sorted(_candidates(diff, rows), key=lambda cause: -abs(cause.change_ns))
    aligned = [cause for cause in candidates if cause.change_ns * together > 0]
    if not aligned:
        return None
    singles = [cause for cause in candidates if cause.what == "one part"]
    first = aligned[0]
    for single in singles:
        part = single.change_ns / first.change_ns
        if single.rows[0] in first.rows and part >= _ALONE:
            first = single
            break
    for single in singles:
        (row,) = single.rows
        part = single.change_ns / first.change_ns
        if switched(row) and _same_bytes(row, diff) and part >= _LEAST_COPY:
            return single
        against = row.kind == "overlap"  # operations side by side each take longer
        part = abs(part) if against else part
        if _exact(row) and part >= _DIRECT and not any(map(_exact, first.rows)):
            return single
    return first


def _known(row: DiffRow) -> bool:
    """Return whether a part is known to have changed, or was seen too few times to tell."""
    return row.change != "unchanged" and bool(row.a.total_ns or row.b.total_ns)


def _exact(row: DiffRow) -> bool:
    return not row.change.endswith("here") and row.change != "not judged"


def _may_be_luck(row: DiffRow) -> bool:
    return row.change.endswith("here") and row.kind != "gap" and abs(_each(row) - 1) < _LUCK


def _candidates(diff: GpuDiff, rows: Sequence[DiffRow]) -> Iterator[Cause]:
    for row in rows:
        yield _cause(diff, "one part", [row])
    worked = [row for row in rows if row.kind in ("kernel", "copy")]
    both = [row for row in worked if row.a.count and row.b.count]
    groups: dict[What, list[DiffRow]] = {
        "idle": [row for row in rows if row.kind == "gap"],
        "launches": [row for row in both if _more_or_less_often(diff, row)],
        "kernels": [row for row in worked if not (row.a.count and row.b.count)],
        "slower": [row for row in both if _each(row) > 1],
        "faster": [row for row in both if _each(row) < 1],
    }
    for what, alike in groups.items():
        signs = {_cause(diff, what, [row]).change_ns > 0 for row in alike}
        if len(alike) > 1 and (what == "kernels" or len(signs) == 1):
            yield _cause(diff, what, alike)


def _each(row: DiffRow) -> float:
    """Return how many times as long a launch takes in B."""
    before, after = row.a.total_ns * row.b.count, row.b.total_ns * row.a.count
    return after / before if before else 1.0


def _more_or_less_often(diff: GpuDiff, row: DiffRow) -> bool:
    before, after = diff.a_step(row.a.count, row.b.count / work_ratio(diff))
    return before != after and abs(_each(row) - 1) < _SAME_EACH


def _cause(diff: GpuDiff, what: What, rows: Sequence[DiffRow]) -> Cause:
    work = work_ratio(diff)
    a, b = diff.a_step(sum(row.a.total_ns for row in rows), sum(row.b.total_ns for row in rows))
    whole_a, whole_b = diff.a_step(diff.a_ns, diff.b_ns)
    whole = whole_b / work - whole_a
    change = b / work - a
    told = abs(change) <= 2 * abs(whole) and change * whole > 0
    return Cause(what, tuple(rows), a, b / work, change / whole if told else None)
