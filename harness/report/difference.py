"""A difference as sections of tables and lines, for `harness diff` and for worklogs."""

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
from harness.report.numbers import number, size

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


def sections(diff: CellDiff) -> list[Section]:
    """Return a whole difference: conditions, times, GPU time, counters, memory."""
    every = [_conditions(diff), *([_times(diff.timing)] if diff.timing else [])]
    if diff.gpu:
        every.append(gpu_time(diff.gpu, diff.gpu_kind or ""))
    if diff.counters:
        every += _kernels(diff.counters)
    return every + (memory(diff.memory) if diff.memory else [])


def markdown(sections: Iterable[Section], level: int = 2) -> Markdown:
    """Return sections as Markdown under headings of ``level``; without a title, no heading."""
    parts = []
    for section in sections:
        parts.append(Markdown(f"{'#' * level} {escape(section.title)}") if section.title else "")
        parts.append(table(section.head, section.rows, whole=True) if section.rows else "")
        parts += [escape(line) for line in section.lines]
    return Markdown("\n\n".join(part for part in parts if part))


def _conditions(diff: CellDiff) -> Section:
    rows = [
        [condition.kind, condition.what, condition.a, condition.b] for condition in diff.differing
    ]
    lines = [f"Not compared: {why}." for why in diff.refused]
    if not rows:
        lines.insert(0, "Nothing differs in what is known of how the two were made.")
    return Section("Made differently", ["capture", "what", "A", "B"], rows, lines)


def _times(ratios: Sequence[Ratio]) -> Section:
    rows = [[f"{ratio.metric} of {ratio.region}", *_ratio_cells(ratio)] for ratio in ratios]
    rounds = min(ratio.ratio.rounds for ratio in ratios)
    lines = [] if rounds > 1 else ["One process a side: another one may differ by more."]
    return Section("Unprofiled times", ["time", "A", "B", "B / A", "B is"], rows, lines)


def folders(diff: FoldersDiff) -> Section:
    """Return the times of every cell that two runs or reports share."""
    rows = [
        [f"{cell.case}.{cell.variant}", ratio.metric, *_ratio_cells(ratio)]
        for cell in diff.cells
        for ratio in cell.timing
    ]
    lines = [
        f"Only in {side}: {', '.join(names)}."
        for side, names in (("A", diff.only_a), ("B", diff.only_b))
        if names
    ]
    return Section("Unprofiled times", ["cell", "time", "A", "B", "B / A", "B is"], rows, lines)


def _ratio_cells(ratio: Ratio) -> list[str]:
    """Return the times of A and B, their ratio with its interval, and the verdict."""
    interval = ratio.ratio
    return [
        f"{number(ratio.a)} {ratio.unit}",
        f"{number(ratio.b)} {ratio.unit}",
        f"{number(interval.value)}× [{number(interval.low)}, {number(interval.high)}]",
        ratio.verdict,
    ]


def gpu_time(diff: GpuDiff, kind: str) -> Section:
    """Return the parts of a step, those that changed first; their changes sum to the whole."""
    shown = _shown(diff)
    rest = [row for row in diff.rows if row not in shown]
    rows = [_part_row(row, diff) for row in shown]
    if rest:
        unit = "part" if len(rest) == 1 else "parts"
        totals = (sum(row.a.total_ns for row in rest), sum(row.b.total_ns for row in rest))
        label = f"{len(rest)} other {unit}"
        rows.append([label, "within noise", *_times_of(totals, diff.steps), "–", "–"])
    whole = _times_of((diff.a_ns, diff.b_ns), diff.steps)
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
    return Section("GPU time of a step", head, rows, _step_lines(diff, shown, kind))


def _shown(diff: GpuDiff) -> list[Row]:
    """Return the rows to show: those that changed, then those that were not judged."""
    ranked = sorted(diff.rows, key=lambda row: -abs(row.delta_ns))
    shown = [row for row in ranked if row.change not in ("unchanged", "not judged")][:_MOST_ROWS]
    return shown + [row for row in ranked if row.change == "not judged"][: _MOST_ROWS - len(shown)]


def _part_row(row: Row, diff: GpuDiff) -> list[str]:
    return [
        part_label(row),
        row.change,
        _part(row.a, diff.a_ns, diff.steps),
        _part(row.b, diff.b_ns, diff.steps),
        signed_us(row.delta_ns / 1e3 / diff.steps),
        _ends(row),
        "; ".join(row.why) or "–",
    ]


def _times_of(totals_ns: tuple[int, int], steps: int) -> list[str]:
    """Return A's and B's µs a step, and the change."""
    a, b = totals_ns
    per = 1e3 * steps
    return [time_us(a / per), time_us(b / per), signed_us((b - a) / per)]


def _step_lines(diff: GpuDiff, shown: list[Row], kind: str) -> list[str]:
    """Return lines that name the compared steps and define the words of the shown rows."""
    steps = f"The last {diff.steps} steps" if diff.steps > 1 else "One step"
    ranges = " and ".join(dict.fromkeys(name or "the whole capture" for name in diff.ranges))
    lines = [f"{steps} of {kind} ({ranges}); the changes sum to the whole, to the nanosecond."]
    if any(row.change.endswith("here") for row in shown):
        lines.append("Here: in these two processes; another pair may differ otherwise.")
    if any(row.change == "not judged" for row in shown):
        lines.append("Not judged: seen too few times for an interval.")
    return lines


def counters(a: Tables, b: Tables) -> list[Section]:
    """Return a section for each kernel whose time under Nsight Compute changed most."""
    return _kernels(compare(a, b))


def _kernels(kernels: Sequence[KernelCounters]) -> list[Section]:
    changed = [_kernel(kernel) for kernel in slowest(kernels, _MOST_KERNELS)]
    same = "No kernel's time under Nsight Compute changed by more than a hundredth of all."
    return changed or [Section("Counters", lines=[same])]


def _kernel(kernel: KernelCounters) -> Section:
    """Return the section of one kernel: its times, the factors of their ratio, its counters."""
    names = [", ".join(map(short_name, side)) or "nothing" for side in (kernel.a, kernel.b)]
    title = names[0] if names[0] == names[1] else _ARROW.join(names)
    times = _ARROW.join(f"{number(value / 1e3)} µs" for value in kernel.time_ns)
    lines = [f"All its launches under Nsight Compute: {times}."]
    for factor in kernel.factors:
        ratio = factor.amount_ratio / factor.rate_ratio
        lines.append(
            f"A launch takes {number(ratio)}× as long:"
            f" {number(factor.amount_ratio)}× the {factor.amount}"
            f" at {number(factor.rate_ratio)}× the {factor.rate}."
        )
    rows = [
        [
            metric.metric,
            f"{number(metric.a)} {metric.unit}".strip(),
            f"{number(metric.b)} {metric.unit}".strip(),
        ]
        for metric in kernel.metrics[:_MOST_METRICS]
    ]
    return Section(f"Counters: {title}", ["metric", "A", "B"], rows, lines)


def memory(diff: MemoryDiff) -> list[Section]:
    """Return pools, then for each phase and graph's pool the sites that changed most."""
    pools = [[pool.pool, *_sizes(pool.reserved), *_sizes(pool.allocated)] for pool in diff.pools]
    head = ["pool", "reserved, A", "B", "change", "allocated, A", "B", "change"]
    alike: dict[str, list[str]] = {}
    tables: dict[str, list[list[str]]] = {}
    for phase in diff.phases:
        rows = _phase(diff, phase)
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


def _phase(diff: MemoryDiff, phase: str) -> list[list[str]]:
    sites = [site for site in diff.sites if site.phase == phase and site.delta]
    if not sites:
        return []
    rows = [[site.site, *_sizes(site.bytes)] for site in sites[:_MOST_SITES]]
    rest = sites[_MOST_SITES:]
    if rest:
        both = (sum(site.bytes[0] for site in rest), sum(site.bytes[1] for site in rest))
        rows.append([f"{len(rest)} other sites", *_sizes(both)])
    return [*rows, ["all that was held at the peak", *_sizes(diff.peak(phase))]]


def part_label(row: Row) -> str:
    """Return the label of a part of a step: kernels by their short names, of A and of B."""
    if row.kind != "kernel":
        return row.label
    sides = [", ".join(map(short_name, side.names)) for side in (row.a, row.b) if side.names]
    return _ARROW.join(dict.fromkeys(sides))


def _part(side: Side, whole_ns: int, steps: int) -> str:
    """Return a side's µs a step with its launches and its share of the step."""
    details = [f"{100 * side.total_ns / whole_ns:.1f} %"] if whole_ns else []
    if side.count:
        details.insert(0, f"{side.count / steps:.6g}×")
    return f"{time_us(side.total_ns / steps / 1e3)} ({', '.join(details)})"


def _ends(row: Row) -> str:
    if row.difference is None:
        return "–"
    return f"[{signed_us(row.difference.low / 1e3)}, {signed_us(row.difference.high / 1e3)}]"


def signed(value: float) -> str:
    """Return a change with its sign, rounded as a value is."""
    return number(value).replace("-", "\N{MINUS SIGN}") if value < 0 else f"+{number(value)}"


def time_us(value: float) -> str:
    """Return a time in µs, to the nanosecond."""
    return f"{value:.3f}"


def signed_us(value: float) -> str:
    """Return a change in µs with its sign, to the nanosecond."""
    return f"{value:+.3f}"


def _sizes(both: tuple[int, int]) -> list[str]:
    a, b = both
    return [size(a), size(b), size(b - a, signed=True)]
