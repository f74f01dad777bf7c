"""How a step of one variant becomes that of another: the GPU's work part by part, then its idling.

The parts sum to the whole.
"""

from collections.abc import Sequence
from itertools import groupby

from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.gpu import GpuDiff, Row
from harness.analysis.kernels import short_name
from harness.analysis.verdict import THRESHOLD
from harness.report.numbers import number
from harness.report.section_text import Section

_MOST_ROWS = 12
_NAME = 52
"""Characters of a kernel's name in a table."""
_TELLING = 0.05
"""Share of the change from which a part has a row of its own, whatever else is known of it."""

Times = tuple[float, float]
"""A's and B's µs a step."""


def gpu_time(diff: GpuDiff, kind: str, a: str = "A", b: str = "B") -> Section:
    """Return what changed between two steps as a sentence and a table.

    ``kind``: of the captures that were compared; ``a`` and ``b`` name the sides.
    """
    busy, whole = _per_step(diff.busy_ns, diff), _per_step((diff.a_ns, diff.b_ns), diff)
    places = _places(max(whole))
    shown, others = _divided(diff)
    idle = [row for row in diff.rows if row.kind == "gap"]
    change = busy[1] - busy[0]
    rows = [_row(row, diff, places, change) for row in shown]
    rows += [_group(rows_of, diff, places, change) for rows_of in others]
    rows.append(["GPU busy", "", *_numbers(busy, places), "100 %" if change else "–"])
    rows += [_row(row, diff, places, 0.0) for row in idle]
    rows.append(["whole step, idle time included", "", *_numbers(whole, places), "–"])
    head = ["part", "is", "A, µs", "B, µs", "change, µs", "share of the busy change"]
    lead = _lead(shown[0] if shown else None, diff, (a, b))
    notes = [note for row in shown if (note := _note(row))]
    return Section("GPU time of a step", head, rows, _lines(diff, kind), lead, notes, words=2)


def part_label(row: Row) -> str:
    """Return the label of a part of a step: kernels by their short names, of A and of B."""
    if row.kind != "kernel":
        return row.label
    sides = [
        ", ".join(short_name(name, _NAME) for name in side.names)
        for side in (row.a, row.b)
        if side.names
    ]
    return " → ".join(dict.fromkeys(sides))


def signed(value: float) -> str:
    """Return a change with its sign, rounded as a value is."""
    return _with_sign(value, number(abs(value)))


def _divided(diff: GpuDiff) -> tuple[list[Row], list[list[Row]]]:
    """Return the working parts that have a row of their own, and the others by what they are."""
    worked = [row for row in diff.rows if row.kind != "gap"]
    ranked = sorted(worked, key=lambda row: -abs(row.delta_ns))
    a, b = diff.busy_ns
    telling = [
        row
        for row in ranked
        if row.change != "unchanged" or abs(row.delta_ns) > _TELLING * max(abs(b - a), 1)
    ]
    shown = telling[:_MOST_ROWS]
    rest = sorted((row for row in ranked if row not in shown), key=_is)
    return shown, [list(rows) for _, rows in groupby(rest, key=_is)]


def _is(row: Row) -> str:
    """Return how a part changed, in words; only one whose interval holds 0 is within noise."""
    if row.change != "unchanged" or not row.delta_ns:
        return row.change
    told = row.difference is not None and row.difference.clear_of(0)
    return "small" if told else "within noise"


def _row(row: Row, diff: GpuDiff, places: int, change: float) -> list[str]:
    times = _per_step((row.a.total_ns, row.b.total_ns), diff)
    launches = [_launches(side, time, places, diff.steps) for side, time in _sides(row, times)]
    delta = _with_sign(times[1] - times[0], f"{abs(times[1] - times[0]):.{places}f}")
    if row.difference is not None:
        half = (row.difference.high - row.difference.low) / 2e3
        delta = f"{delta} ± {half:.{places}f}"
    return [part_label(row), _is(row), *launches, delta, _share(times, change)]


def _sides(row: Row, times: Times) -> list[tuple[Side, float]]:
    return [(row.a, times[0]), (row.b, times[1])]


def _launches(side: Side, time_us: float, places: int, steps: int) -> str:
    """Return a side's µs a step, with its launches if it has any."""
    shown = f"{time_us:.{places}f}"
    return f"{shown} ({side.count / steps:.6g}×)" if side.count else shown


def _group(rows: Sequence[Row], diff: GpuDiff, places: int, change: float) -> list[str]:
    """Return the row of parts that are shown as one."""
    totals = (sum(row.a.total_ns for row in rows), sum(row.b.total_ns for row in rows))
    times = _per_step(totals, diff)
    label = "1 other part" if len(rows) == 1 else f"{len(rows)} other parts"
    return [label, _is(rows[0]), *_numbers(times, places), _share(times, change)]


def _per_step(totals_ns: tuple[int, int], diff: GpuDiff) -> Times:
    return totals_ns[0] / diff.steps / 1e3, totals_ns[1] / diff.steps / 1e3


def _numbers(times: Times, places: int) -> list[str]:
    """Return A's and B's µs, and the change."""
    a, b = times
    return [f"{a:.{places}f}", f"{b:.{places}f}", _with_sign(b - a, f"{abs(b - a):.{places}f}")]


def _share(times: Times, change: float) -> str:
    return f"{100 * (times[1] - times[0]) / change:.0f} %" if change else "–"


def _places(largest_us: float) -> int:
    """Return the decimals of all times of a table, which sum: less than a thousandth of it."""
    return 1 if largest_us >= 100 else 2 if largest_us >= 10 else 3


def _with_sign(value: float, magnitude: str) -> str:
    return f"{'+' if value >= 0 else chr(0x2212)}{magnitude}"


def _lead(largest: Row | None, diff: GpuDiff, sides: tuple[str, str]) -> str:
    """Return what changed in three sentences: the GPU's work, its largest part, the step."""
    busy, whole = _per_step(diff.busy_ns, diff), _per_step((diff.a_ns, diff.b_ns), diff)
    change = busy[1] - busy[0]
    told = (
        f"From A ({sides[0]}) to B ({sides[1]}), the GPU's busy time of a step goes from"
        f" {number(busy[0])} to {number(busy[1])} µs ({signed(change)} µs)."
    )
    if largest is not None and change:
        by = largest.delta_ns / diff.steps / 1e3
        share = f"{100 * by / change:.0f} % of that"
        told += f" Largest part: {part_label(largest)}, {signed(by)} µs, {share}."
    return f"{told} With idle time, the step goes from {number(whole[0])} to {number(whole[1])} µs."


def _note(row: Row) -> str:
    """Return a part's full names and what differs, "" where its row says all."""
    names = [", ".join(side.names) for side in (row.a, row.b) if side.names]
    full = " → ".join(dict.fromkeys(names)) if row.kind == "kernel" else row.label
    why = "; ".join(row.why)
    if full == part_label(row) and not why:
        return ""
    return f"{full}: {why}" if why else full


def _lines(diff: GpuDiff, kind: str) -> list[str]:
    """Return lines that name the compared steps and define the words of the rows."""
    steps = f"The last {diff.steps} steps" if diff.steps > 1 else "One step"
    ranges = " and ".join(dict.fromkeys(name or "the whole capture" for name in diff.ranges))
    lines = [
        f"{steps} of {kind} ({ranges}); the parts sum to the busy time, and with idle time to the"
        " step. In parentheses: launches a step. ±: half of the 99 % interval."
    ]
    if any(row.change.endswith("here") for row in diff.rows):
        lines.append("Here: in these two processes; another pair may differ otherwise.")
    if any(_is(row) == "small" for row in diff.rows):
        lines.append(f"Small: perhaps below {100 * THRESHOLD:g} % of the step.")
    if any(row.change == "not judged" for row in diff.rows):
        lines.append("Not judged: seen too few times for an interval.")
    return lines
