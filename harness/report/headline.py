"""What changed from one capture to another, in one sentence that names the largest cause."""

from collections.abc import Sequence

from harness.analysis.diff import causes
from harness.analysis.diff.causes import Cause
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.analysis.diff.work import work_ratio
from harness.analysis.kernels import short_name
from harness.report.numbers import number
from harness.report.signs import percent, with_sign

_NAME = 44
"""Characters of a kernel's name in a sentence."""
_MS, _S = 1e7, 1e10
"""ns from which times are in ms and in s; below, in µs."""
_MOSTLY = 0.5
"""Share of a gap's change from which a call is named."""
_AS_LONG, _AS_OFTEN = 0.01, 0.1
"""Relative changes of a step's time and of launches below which they count as equal."""


def unit(whole_ns: float) -> tuple[float, str]:
    """Return the ns of the unit that fits times up to ``whole_ns``, and its name."""
    if whole_ns >= _S:
        return 1e9, "s"
    return (1e6, "ms") if whole_ns >= _MS else (1e3, "µs")


def headline(diff: GpuDiff) -> str:
    """Return how the step's time changed and its largest cause, in one sentence."""
    cause = causes.largest(diff)
    whole, change = _whole(diff), diff.whole_change_ns
    if cause is None:
        return f"{whole}; no part of it is known to have changed."
    grown = number(abs(cause.change_ns) / _scale(diff)[0])
    clause = _clause(cause, diff, f"{grown} {_scale(diff)[1]}")
    if cause.share is not None:
        clause += f", {percent(cause.share)} of the change"
    elif cause.change_ns * change < 0 and not _as_long(diff):
        clause = f"against that, {clause}"
    return f"{whole}: {clause}{_in_all(cause, diff)}{_largest(cause, diff)}."


def other_programs(diff: GpuDiff) -> str:
    """Return how long the steps of two different programs last, without a comparison."""
    scale, name = _scale(diff)
    a, b = (f"{number(time / scale)} {name}" for time in diff.a_step(diff.a_ns, diff.b_ns))
    what = "a step" if any(diff.ranges) else "the capture"
    return f"A and B may be different programs: {what} takes {a} in A, {b} in B."


def _clause(cause: Cause, diff: GpuDiff, change: str) -> str:
    """Return what became of the cause's parts; ``change``: the size of their change, with unit."""
    if cause.what == "one part":
        return _one_part(cause, diff, change)
    if cause.what == "idle":
        return f"idle time {_grew(cause)} by {change} ({_times(cause, diff)})"
    if cause.what == "launches":
        return _launches(cause, diff, change)
    return _kernels(cause, diff, change) if cause.what == "kernels" else _slower(cause, diff)


def _scale(diff: GpuDiff) -> tuple[float, str]:
    return unit(max(diff.a_step(diff.a_ns, diff.b_ns)))


def _whole(diff: GpuDiff) -> str:
    """Return how long B's step takes against A's."""
    scale, name = _scale(diff)
    a, b = diff.a_step(diff.a_ns, diff.b_ns)
    work = work_ratio(diff)
    if not a or not b:
        return f"A step goes from {number(a / scale)} to {number(b / scale)} {name}"
    times = f"{number(a / scale)} → {number(b / scale)} {name}"
    what = "A step" if any(diff.ranges) else "The capture"
    if work != 1:
        return (
            f"B does {number(work)}× the work of A in {number(b / a)}× the time"
            f" ({times}), so the same work takes {number(b / work / a)}× as long"
        )
    if _as_long(diff):
        return f"{what} takes as long in B as in A ({times})"
    return f"{what} takes {number(b / a)}× as long in B ({times})"


def _as_long(diff: GpuDiff) -> bool:
    a, b = diff.a_step(diff.a_ns, diff.b_ns)
    return work_ratio(diff) == 1 and abs(b - a) < _AS_LONG * a


def _in_all(cause: Cause, diff: GpuDiff) -> str:
    """Return the cause's change over all ranges that ran into one step, "" where each is apart."""
    if diff.marked[0] != diff.marked[1] or diff.marked[0] == 1:
        return ""
    scale, name = _scale(diff)
    whole = number(abs(cause.change_ns) * diff.marked[0] / scale)
    return f" ({whole} {name} over the {diff.marked[0]} steps)"


def _largest(cause: Cause, diff: GpuDiff) -> str:
    """Return which of several kernels changed most."""
    if cause.what in ("one part", "idle"):
        return ""
    row = max(cause.rows, key=lambda row: abs(diff.change_ns(row)))
    return f"; the largest is {_what(row, row.b.names or row.a.names)}"


def _times(cause: Cause, diff: GpuDiff) -> str:
    scale, name = _scale(diff)
    return f"{number(cause.a_ns / scale)} → {number(cause.b_ns / scale)} {name}"


def _grew(cause: Cause) -> str:
    return "grew" if cause.change_ns > 0 else "shrank"


def _launches(cause: Cause, diff: GpuDiff, change: str) -> str:
    counts = diff.a_step(_count(cause.rows, "a"), _count(cause.rows, "b"))
    more = "more" if counts[1] > counts[0] else "fewer"
    what = f"{number(abs(counts[1] - counts[0]))} {more} launches per step of {len(cause.rows)}"
    return f"{what} kernels, {with_sign(cause.change_ns, change)}"


def _kernels(cause: Cause, diff: GpuDiff, change: str) -> str:
    gone = [row for row in cause.rows if not row.b.count]
    new = [row for row in cause.rows if not row.a.count]
    counts = diff.a_step(_count(gone, "a"), _count(new, "b"))
    parts = [
        f"{len(rows)} {'kernel is' if len(rows) == 1 else 'kernels are'} {what}"
        f" ({number(count)} launches per step)"
        for rows, what, count in ((gone, "gone", counts[0]), (new, "new", counts[1]))
        if rows
    ]
    return f"{' and '.join(parts)}, {with_sign(cause.change_ns, change)}"


def _slower(cause: Cause, diff: GpuDiff) -> str:
    copies = " and copies" if any(row.kind == "copy" for row in cause.rows) else ""
    what = f"{len(cause.rows)} kernels{copies} became {cause.what}"
    ratio = _over(cause.b_ns, cause.a_ns)
    return f"{what}, together {ratio} as long ({_times(cause, diff)})"


def _over(value: float, other: float) -> str:
    return f"{number(value / other)}×" if other else "many times"


def _one_part(cause: Cause, diff: GpuDiff, change: str) -> str:
    (row,) = cause.rows
    times = _times(cause, diff)
    if row.kind == "gap":
        return f"idle time{_host(row, diff)} {_grew(cause)} by {change} ({times})"
    if row.kind == "overlap":
        less = "less" if cause.change_ns > 0 else "more"
        on = f" on {row.why[0].removeprefix('streams ')} streams" if row.why else ""
        return f"operations{on} overlap by {change} {less}"
    if causes.switched(row):
        return f"{_memory(row)} ({times})"
    return _named(row, cause, diff, change)


def _host(row: DiffRow, diff: GpuDiff) -> str:
    """Return the host's state while the GPU was idle, with the call if one makes up most of it."""
    what = row.label.removeprefix("idle")
    for name, a_ns, b_ns in row.calls[:1]:
        before, after = diff.a_step(a_ns, b_ns)
        if (after - before) * diff.change_ns(row) > _MOSTLY * diff.change_ns(row) ** 2:
            return f"{what}, mostly {name},"
    return what


def _memory(row: DiffRow) -> str:
    """Return which memory the copies use instead, and in which direction."""
    pageable = ["Pageable" in name for name in (row.a.names[0], row.b.names[0])]
    new, old = ("pageable", "pinned") if pageable[1] else ("pinned", "pageable")
    name = row.a.names[0] + row.b.names[0]
    way = "from" if f"{'Pageable' if 'Pageable ->' in name else 'Pinned'} ->" in name else "to"
    return f"copies {way} {new} memory replaced those {way} {old} memory"


def _named(row: DiffRow, cause: Cause, diff: GpuDiff, change: str) -> str:
    """Return what became of one kernel, one kind of copy, or kernels that stand for others."""
    before, after = (_what(row, side.names) for side in (row.a, row.b))
    counts = diff.a_step(row.a.count, row.b.count)
    if not before or not after:
        how = "is new" if after else "is gone"
        by = with_sign(cause.change_ns, change)
        return f"{before or after} {how}, {_often(sum(counts))} a step, {by}"
    slower = cause.b_ns > cause.a_ns
    ratio = _over(max(cause.a_ns, cause.b_ns), min(cause.a_ns, cause.b_ns))
    rate = f"{ratio} {'slower' if slower else 'faster'}"
    times = f" ({_times(cause, diff)}{_because(row)})"
    as_often = abs(counts[1] / work_ratio(diff) - counts[0]) <= _AS_OFTEN * counts[0]
    if before != after and not as_often:
        return (
            f"{after}, {_often(counts[1])} a step, took the place of {before},"
            f" {_often(counts[0])} a step, together {_over(cause.b_ns, cause.a_ns)} as long{times}"
        )
    if before != after:
        return f"{after} took the place of {before}, {rate}{times}"
    if not as_often:
        return (
            f"{before} runs {_often(counts[1])} a step instead of {_often(counts[0])} and"
            f" takes {_over(cause.b_ns, cause.a_ns)} as long{times}"
        )
    return f"{before} became {rate}{times}"


def _because(row: DiffRow) -> str:
    """Return the first exact difference between the launches of one kernel, "" without one."""
    alike = len(row.a.names) == len(row.b.names) == 1 and row.change == "changed"
    why = [reason for reason in row.why if not reason.startswith(("launches", "another", "each"))]
    return f"; {why[0]}" if alike and why else ""


def _often(count: float) -> str:
    return "once" if count == 1 else f"{number(count)} times"


def _what(row: DiffRow, names: Sequence[str]) -> str:
    if row.kind == "copy" and names:
        return f"copying {names[0].partition('(')[2].rstrip(')') or names[0]}"
    return f"kernel {_name(names)}" if len(names) == 1 else _name(names)


def _name(names: Sequence[str]) -> str:
    first = short_name(names[0], _NAME) if names else ""
    return first if len(names) < 2 else f"{first} and {len(names) - 1} more"


def _count(rows: Sequence[DiffRow], side: str) -> int:
    return sum(row.a.count if side == "a" else row.b.count for row in rows)
