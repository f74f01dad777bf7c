"""A difference as sections of tables and lines: for the terminal, for Markdown, for worklogs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.cells import CellDiff, FoldersDiff
from harness.analysis.diff.counters import KernelCounters, compare, slowest
from harness.analysis.diff.gpu import GpuDiff, Row
from harness.analysis.diff.memory import MemoryDiff
from harness.analysis.diff.timing import Ratio
from harness.analysis.kernels import short_name
from harness.evidence.tables import Tables
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import number

_MOST_ROWS = 15
_MOST_KERNELS, _MOST_METRICS = 4, 12
_MOST_SITES = 10
_ARROW = " → "


@dataclass(frozen=True)
class Section:
    """A title, a table under it, and lines under that; a table without rows is left out."""

    title: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def sections(found: CellDiff) -> list[Section]:
    """Return a whole difference, what it was made on first."""
    every = [_conditions(found), *([_times(found.timing)] if found.timing else [])]
    if found.gpu:
        every.append(gpu_time(found.gpu, found.gpu_kind or ""))
    if found.counters:
        every += _kernels(found.counters)
    return every + (memory(found.memory) if found.memory else [])


def markdown(given: Iterable[Section], level: int = 2) -> Markdown:
    """Return sections as Markdown under headings of ``level``; one without a title has none."""
    parts = []
    for one in given:
        parts.append(Markdown(f"{'#' * level} {escape(one.title)}") if one.title else "")
        parts.append(table(one.head, one.rows) if one.rows else "")
        parts += [escape(line) for line in one.lines]
    return Markdown("\n\n".join(part for part in parts if part))


def _conditions(found: CellDiff) -> Section:
    rows = [[one.kind, one.what, one.a, one.b] for one in found.differing]
    lines = [f"Not compared: {why}." for why in found.refused]
    if not rows:
        lines.insert(0, "Nothing differs in what is known of how the two were made.")
    return Section("Made differently", ["capture", "what", "A", "B"], rows, lines)


def _times(found: Sequence[Ratio]) -> Section:
    rows = [
        [
            f"{one.metric} of {one.region}",
            f"{number(one.a)} {one.unit}",
            f"{number(one.b)} {one.unit}",
            f"{number(one.ratio.value)}× [{number(one.ratio.low)}, {number(one.ratio.high)}]",
            one.verdict,
        ]
        for one in found
    ]
    rounds = min(one.ratio.rounds for one in found)
    lines = [] if rounds > 1 else ["One process a side: another one may differ by more."]
    return Section("Unprofiled times", ["time", "A", "B", "B / A", "B is"], rows, lines)


def folders(found: FoldersDiff) -> Section:
    """Return the times of every cell that two runs or reports share."""
    rows = [
        [
            f"{cell.case}.{cell.variant}",
            one.metric,
            f"{number(one.a)} {one.unit}",
            f"{number(one.b)} {one.unit}",
            f"{number(one.ratio.value)}× [{number(one.ratio.low)}, {number(one.ratio.high)}]",
            one.verdict,
        ]
        for cell in found.cells
        for one in cell.timing
    ]
    lines = [
        f"Only in {side}: {', '.join(names)}."
        for side, names in (("A", found.only_a), ("B", found.only_b))
        if names
    ]
    return Section("Unprofiled times", ["cell", "time", "A", "B", "B / A", "B is"], rows, lines)


def gpu_time(found: GpuDiff, kind: str) -> Section:
    """Return the parts of a step, those that changed first; their changes sum to the whole."""
    per = 1e3 * found.steps
    change = found.b_ns - found.a_ns
    ranked = sorted(found.rows, key=lambda row: -abs(row.delta_ns))
    shown = [row for row in ranked if row.change not in ("unchanged", "not judged")][:_MOST_ROWS]
    shown += [row for row in ranked if row.change == "not judged"][: _MOST_ROWS - len(shown)]
    rows = [
        [
            _label(row),
            row.change,
            _part(row.a, found.a_ns, found.steps),
            _part(row.b, found.b_ns, found.steps),
            _signed(row.delta_ns / per),
            _ends(row),
            "; ".join(row.why) or "–",
        ]
        for row in shown
    ]
    rest = [row for row in found.rows if row not in shown]
    if rest:
        totals = [sum(row.a.total_ns for row in rest), sum(row.b.total_ns for row in rest)]
        unit = "part" if len(rest) == 1 else "parts"
        told = [
            _time(totals[0] / per),
            _time(totals[1] / per),
            _signed((totals[1] - totals[0]) / per),
        ]
        rows.append([f"{len(rest)} other {unit}", "within noise", *told, "–", "–"])
    whole = [_time(found.a_ns / per), _time(found.b_ns / per), _signed(change / per)]
    rows.append(["whole step", "", *whole, "–", "–"])
    head = [
        "part",
        "is",
        "A, µs a step (launches, share)",
        "B, µs a step (launches, share)",
        "change, µs",
        "99 % interval",
        "what differs",
    ]
    steps = f"The last {found.steps} steps" if found.steps > 1 else "One step"
    named = " and ".join(dict.fromkeys(one or "the whole capture" for one in found.ranges))
    lines = [f"{steps} of {kind} ({named}); the changes sum to the whole, to the nanosecond."]
    if any(row.change.endswith("here") for row in shown):
        lines.append("Here: in these two processes; another pair may differ otherwise.")
    if any(row.change == "not judged" for row in shown):
        lines.append("Not judged: seen too few times for an interval.")
    return Section("GPU time of a step", head, rows, lines)


def bars(found: GpuDiff, a: str = "A", b: str = "B", most: int = 10) -> list[dict[str, object]]:
    """Return the rows of a waterfall from A's step to B's, in µs; small parts are one bar.

    ``a`` and ``b`` name the two totals.
    """
    per = 1e3 * found.steps
    ranked = sorted(found.rows, key=lambda row: -abs(row.delta_ns))
    shown = [row for row in ranked[:most] if row.change != "unchanged"]
    parts = [(_label(row), row.delta_ns / per) for row in shown]
    rest = sum(row.delta_ns for row in found.rows if row not in shown)
    if len(shown) < len(found.rows):
        parts.append((f"{len(found.rows) - len(shown)} other parts", rest / per))
    at = found.a_ns / per
    rows: list[dict[str, object]] = [_bar(a, 0.0, at, total=True)]
    for place, (label, change) in enumerate(parts, start=1):
        # Bars of one label would be one bar.
        same = label in (a, b) or sum(label == other for other, _ in parts) > 1
        rows.append(_bar(f"{label} ({place})" if same else label, at, at + change))
        at += change
    return [*rows, _bar(b, 0.0, at, total=True)]


def _bar(label: str, start: float, end: float, *, total: bool = False) -> dict[str, object]:
    shown = _time(end) if total else _signed(end - start)
    return {"label": label, "start": start, "end": end, "shown": f"{shown} µs", "total": total}


def counters(a: Tables, b: Tables) -> list[Section]:
    """Return a section for each kernel whose time under Nsight Compute changed most."""
    return _kernels(compare(a, b))


def _kernels(found: Sequence[KernelCounters]) -> list[Section]:
    told = [_kernel(one) for one in slowest(found, _MOST_KERNELS)]
    same = "No kernel's time under Nsight Compute changed by more than a hundredth of all."
    return told or [Section("Counters", lines=[same])]


def _kernel(found: KernelCounters) -> Section:
    """Return what Nsight Compute's counters say of one kernel."""
    names = [", ".join(map(short_name, side)) or "nothing" for side in (found.a, found.b)]
    title = names[0] if names[0] == names[1] else _ARROW.join(names)
    times = _ARROW.join(f"{number(value / 1e3)} µs" for value in found.time_ns)
    lines = [f"All its launches under Nsight Compute: {times}."]
    for one in found.factors:
        ratio = one.amount_ratio / one.rate_ratio
        lines.append(
            f"A launch takes {number(ratio)}× as long: {number(one.amount_ratio)}× the {one.amount}"
            f" at {number(one.rate_ratio)}× the {one.rate}."
        )
    rows = [
        [one.metric, f"{number(one.a)} {one.unit}".strip(), f"{number(one.b)} {one.unit}".strip()]
        for one in found.metrics[:_MOST_METRICS]
    ]
    return Section(f"Counters: {title}", ["metric", "A", "B"], rows, lines)


def memory(found: MemoryDiff) -> list[Section]:
    """Return pools, then for each phase and graph's pool the sites that changed most."""
    pools = [[one.pool, *_sizes(one.reserved), *_sizes(one.allocated)] for one in found.pools]
    head = ["pool", "reserved, A", "B", "change", "allocated, A", "B", "change"]
    alike: dict[str, list[str]] = {}
    tables: dict[str, list[list[str]]] = {}
    for phase in found.phases:
        rows = _phase(found, phase)
        alike.setdefault(str(rows), []).append(phase or "no phase")
        tables[str(rows)] = rows
    first = [Section("Memory by pool", head, pools)] if pools else []
    return first + [
        Section(
            f"Memory at the peak of {', '.join(alike[key])}", ["site", "A", "B", "change"], rows
        )
        for key, rows in tables.items()
        if rows
    ]


def _phase(found: MemoryDiff, phase: str) -> list[list[str]]:
    mine = [one for one in found.sites if one.phase == phase and one.delta]
    if not mine:
        return []
    rows = [[one.site, *_sizes(one.bytes)] for one in mine[:_MOST_SITES]]
    rest = mine[_MOST_SITES:]
    if rest:
        both = (sum(one.bytes[0] for one in rest), sum(one.bytes[1] for one in rest))
        rows.append([f"{len(rest)} other sites", *_sizes(both)])
    return [*rows, ["all that was held at the peak", *_sizes(found.peak(phase))]]


def _label(row: Row) -> str:
    if row.kind != "kernel":
        return row.label
    sides = [", ".join(map(short_name, side.names)) for side in (row.a, row.b) if side.names]
    return _ARROW.join(dict.fromkeys(sides))


def _part(side: Side, whole_ns: int, steps: int) -> str:
    """Return a side's µs a step with its launches and its share of the step."""
    told = [f"{100 * side.total_ns / whole_ns:.1f} %"] if whole_ns else []
    if side.count:
        told.insert(0, f"{side.count / steps:.6g}×")
    return f"{_time(side.total_ns / steps / 1e3)} ({', '.join(told)})"


def _ends(row: Row) -> str:
    if row.difference is None:
        return "–"
    return f"[{_signed(row.difference.low / 1e3)}, {_signed(row.difference.high / 1e3)}]"


def _time(value: float) -> str:
    return f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def _sizes(both: tuple[int, int]) -> list[str]:
    return [_size(both[0]), _size(both[1]), _size(both[1] - both[0], sign="+")]


def _size(value: int, sign: str = "") -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= scale:
            return f"{value / scale:{sign}.4g} {unit}"
    return f"{value:{sign}d} B" if value else "0 B"
