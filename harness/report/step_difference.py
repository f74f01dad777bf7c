"""How a step of one variant becomes that of another, part by part: work and idle time alike.

The parts sum to the whole, and those that changed most come first.
"""

from collections.abc import Sequence

from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.analysis.kernels import short_name
from harness.analysis.units import counted
from harness.analysis.verdict import THRESHOLD
from harness.report.headline import headline, unit
from harness.report.section_text import Section
from harness.report.signs import percent, with_sign

_MOST_ROWS = 12
_NAME, _OF_TWO = 44, 30
"""Characters of a kernel's name in a table, and where it stands beside another name."""
_MOST_CALLS = 3
_LEAST = 0.005
"""Share of the parts' changes below which a part has no row of its own, if it changed in time only.
"""

Times = tuple[float, float]
"""A's and B's times a step and GPU, in the table's unit."""


def gpu_time(diff: GpuDiff, kind: str, a: str = "A", b: str = "B") -> Section:
    """Return what changed between two steps: a sentence, and a table of the parts by their change.

    ``kind``: of the captures that were compared; ``a`` and ``b`` name the sides.
    """
    shown, cut = _divided(diff)
    scale, name = unit(max(diff.a_step(diff.a_ns, diff.b_ns)))
    table = _Table(diff, scale, name)
    rows = [table.part(row) for row in shown]
    if cut:
        rows.append(table.total(counted(len(cut), "other part"), cut))
    rows.append(table.total("whole step", diff.rows, share="100 %" if table.told else "–"))
    if any(row.kind == "gap" for row in diff.rows):
        busy = [row for row in diff.rows if row.kind != "gap"]
        rows.append(table.total("– without idle time", busy))
    head = ["part", "is", f"A, {name}", "B", "change", "of all"]
    lead = headline(diff)
    if (a, b) != ("A", "B"):
        lead = f"A is {a}, B is {b}. {lead}"
    notes = [note for row in shown if (note := _note(row))]
    brief = [f"{part_label(row)}: {'; '.join(row.why)}" for row in shown if row.why]
    calls = [f"{row.label}: {table.calls(row)}" for row in shown if row.calls]
    notes, brief = calls + notes, calls + brief
    lines = _lines(diff, kind, shown, cut, table)
    return Section("GPU time of a step", head, rows, lines, lead, notes, words=2, brief=brief)


def by_gpu(diff: GpuDiff) -> Section:
    """Return each GPU's busy and idle time a step, and its part that changed most."""
    scale, name = unit(max(diff.a_step(diff.a_ns, diff.b_ns)))
    rows = []
    for number_, of_gpu in diff.devices.items():
        table = _Table(of_gpu, scale, name)
        busy = of_gpu.a_step(*of_gpu.busy_ns)
        whole = of_gpu.a_step(of_gpu.a_ns, of_gpu.b_ns)
        idle = (whole[0] - busy[0], whole[1] - busy[1])
        largest = max(of_gpu.rows, key=lambda row: abs(of_gpu.change_ns(row)))
        change = table.change(of_gpu.change_ns(largest))
        most = f"{part_label(largest)} {change}"
        rows.append([f"GPU {number_}", most, *table.both(busy), *table.both(idle)])
    head = ["GPU", f"changed most, {name}", f"busy A, {name}", "B", "idle A", "B"]
    return Section("Each GPU", head, rows, words=2)


def part_label(row: DiffRow) -> str:
    """Return the label of a part of a step: kernels by their short names, of A and of B."""
    if row.kind != "kernel":
        return row.label
    sides = dict.fromkeys(side.names for side in (row.a, row.b) if side.names)
    alike = len({_kernels(names, _NAME) for names in sides}) == 1
    limit = _NAME if alike else _OF_TWO
    return " → ".join(dict.fromkeys(_kernels(names, limit) for names in sides))


def _kernels(names: Sequence[str], limit: int) -> str:
    first = short_name(names[0], limit)
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"


def _divided(diff: GpuDiff) -> tuple[list[DiffRow], list[DiffRow]]:
    """Return the parts that have a row of their own, by their change, and those that do not."""
    ranked = sorted(diff.rows, key=lambda row: -abs(diff.change_ns(row)))
    least = _LEAST * sum(abs(diff.change_ns(row)) for row in ranked)
    telling = [
        row
        for row in ranked
        if row.change not in ("unchanged", "not judged") or abs(diff.change_ns(row)) > least
    ]
    shown = telling[:_MOST_ROWS]
    return shown, [row for row in ranked if row not in shown]


def _is(row: DiffRow) -> str:
    """Return how a part changed, in words; only one whose interval holds 0 is within noise."""
    if row.change != "unchanged" or not row.delta_ns:
        return row.change
    told = row.difference is not None and row.difference.clear_of(0)
    return "small" if told else "within noise"


class _Table:
    """Cells of a table of times in one unit, with as many decimals as its largest time needs."""

    def __init__(self, diff: GpuDiff, scale: float, unit: str) -> None:
        whole = max(diff.a_step(diff.a_ns, diff.b_ns)) / scale
        self._diff, self._scale, self._unit = diff, scale, unit
        self._places = 1 if whole >= 100 else 2 if whole >= 10 else 3
        largest = max((abs(diff.change_ns(row)) for row in diff.rows), default=0.0)
        self.told = abs(diff.whole_change_ns) >= _CANCELLED * largest > 0

    def part(self, row: DiffRow) -> list[str]:
        times = self._diff.a_step(row.a.total_ns, row.b.total_ns)
        change = self.change(times[1] - times[0])
        if row.difference is not None:
            half = (row.difference.high - row.difference.low) / 2
            change = f"{change} ± {self._number(half)}"
        return [part_label(row), _is(row), *self.both(times), change, self._share(times)]

    def total(self, label: str, rows: Sequence[DiffRow], share: str | None = None) -> list[str]:
        a = sum(row.a.total_ns for row in rows)
        times = self._diff.a_step(a, sum(row.b.total_ns for row in rows))
        change = self.change(times[1] - times[0])
        return [label, "", *self.both(times), change, share or self._share(times)]

    def both(self, times_ns: Times) -> list[str]:
        return [self._number(time) for time in times_ns]

    def change(self, change_ns: float) -> str:
        return with_sign(change_ns, self._number(abs(change_ns)))

    def size(self, time_ns: float) -> str:
        return f"{self._number(time_ns)} {self._unit}"

    def calls(self, row: DiffRow) -> str:
        """Return the calls that the host was in, those whose time changed most."""
        shown = []
        for call, a_ns, b_ns in row.calls[:_MOST_CALLS]:
            times = " → ".join(self.both(self._diff.a_step(a_ns, b_ns)))
            shown.append(f"{call} {times} {self._unit}")
        return ", ".join(shown)

    def _number(self, time_ns: float) -> str:
        return f"{time_ns / self._scale:.{self._places}f}"

    def _share(self, times_ns: Times) -> str:
        change = self._diff.whole_change_ns
        return percent((times_ns[1] - times_ns[0]) / change) if self.told else "–"


_CANCELLED = 0.2
"""A step's change below this share of its largest part's is a sum that cancels: no shares of it."""


def _note(row: DiffRow) -> str:
    """Return a part's full names and what differs, "" where its row says all."""
    names = [", ".join(side.names) for side in (row.a, row.b) if side.names]
    full = " → ".join(dict.fromkeys(names)) if row.kind == "kernel" else row.label
    why = "; ".join(row.why)
    if full == part_label(row) and not why:
        return ""
    return f"{full}: {why}" if why else full


def _lines(
    diff: GpuDiff, kind: str, shown: Sequence[DiffRow], cut: Sequence[DiffRow], table: _Table
) -> list[str]:
    """Return lines that name the compared steps, count the rows left out, and define the words."""
    return [
        f"{_compared(diff, kind)} The parts sum to the step. ±: half of the 99 % interval.",
        *([_cut(cut, diff, table)] if cut else []),
        *_words(diff, shown),
    ]


def _compared(diff: GpuDiff, kind: str) -> str:
    """Return which steps the times are of."""
    ranges = " and ".join(dict.fromkeys(name or "the whole capture" for name in diff.ranges))
    steps = f"The last {diff.steps} steps" if diff.steps > 1 else "One step"
    if max(diff.marked) > 1:
        counts = " and ".join(map(str, dict.fromkeys(diff.marked)))
        steps = f"The mean of {counts} steps, which run into each other,"
    gpus = " and ".join(map(str, dict.fromkeys(diff.gpus)))
    mean = f", the mean of {gpus} GPUs" if max(diff.gpus) > 1 else ""
    return f"{steps} of {kind} ({ranges}){mean}."


def _cut(cut: Sequence[DiffRow], diff: GpuDiff, table: _Table) -> str:
    """Return how many parts have no row, and by how much the largest of them changed."""
    most = max(abs(diff.change_ns(row)) for row in cut)
    size = f"at most {table.size(most)}{' each' * (len(cut) > 1)}" if most else "unchanged"
    return f"Not shown: {counted(len(cut), 'part')}, {size}."


def _words(diff: GpuDiff, shown: Sequence[DiffRow]) -> list[str]:
    lines = []
    if any(row.change.endswith("here") for row in diff.rows):
        lines.append("Here: in these two processes; another pair may differ otherwise.")
    if any(_is(row) == "small" for row in shown):
        lines.append(f"Small: perhaps below {100 * THRESHOLD:g} % of the step.")
    if any(row.change == "not judged" for row in shown):
        lines.append("Not judged: seen too few times for an interval.")
    return lines
