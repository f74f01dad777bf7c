"""A difference as sections of tables and lines, for `harness diff` and for worklogs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.analysis.diff.cells import CellDiff, FoldersDiff
from harness.analysis.diff.counters import compare
from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.diff.memory import MemoryDiff
from harness.analysis.diff.timing import Ratio
from harness.analysis.verdict import LEAST_PROCESSES
from harness.evidence.tables import Tables
from harness.report import load_difference
from harness.report.headline import headline as step_headline
from harness.report.headline import other_programs
from harness.report.kernel_difference import kernels, kernels_headline
from harness.report.numbers import number, size
from harness.report.section_text import Section
from harness.report.step_difference import by_gpu, gpu_time

_MOST_SITES = 10
_NO_PHASE = "what is in no phase"


def headline(diff: CellDiff) -> str:
    """Return the sentence on the timelines, else on counters, memory or loads; "" on none."""
    if diff.gpu:
        return other_programs(diff.gpu) if diff.other_programs else step_headline(diff.gpu)
    if diff.counters:
        return kernels_headline(diff.counters)
    if diff.memory:
        return _memory_headline(diff.memory)
    return load_difference.headline(diff.load) if diff.load else ""


def sections(diff: CellDiff) -> list[Section]:
    """Return a whole difference: conditions, times, GPU time, counters, memory, load."""
    every = [_conditions(diff), *([_times(diff.timing)] if diff.timing else [])]
    if diff.gpu:
        time = gpu_time(diff.gpu, diff.gpu_kind or "")
        every.append(replace(time, lead=f"{headline(diff)} {compared(diff.gpu)}"))
        every += [by_gpu(diff.gpu)] if diff.gpu.devices else []
    if diff.counters:
        every += kernels(diff.counters)
    if diff.memory:
        first, *rest = memory(diff.memory) or [Section("Memory")]
        every += [replace(first, lead=_memory_headline(diff.memory)), *rest]
    return every + (load_difference.sections(diff.load) if diff.load else [])


def compared(diff: GpuDiff) -> str:
    """Return a sentence on which steps are compared, and why the others are not."""
    a, b = diff.step
    held = [count // each for count, each in zip(diff.recorded, diff.marked, strict=True)]
    left = ["the first is warm-up"] if diff.steps < min(held) else []
    left += ["as many of each side"] if held[0] != held[1] else []
    why = "".join(f"; {reason}" for reason in left)
    return f"Compared: {a}{why}." if a == b else f"Compared: {a} of A, {b} of B{why}."


def _conditions(diff: CellDiff) -> Section:
    """Return why the two may not be comparable, then what differs in how they were made."""
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for condition in diff.differing:
        told = (condition.what, condition.a, condition.b)
        kinds.setdefault(told, []).append(condition.kind)
    rows = [[", ".join(captures), *told] for told, captures in kinds.items()]
    differing = {what for what, _, _ in kinds}
    alike = [condition.what for condition in diff.alike if condition.what not in differing]
    lines = [f"Alike: {', '.join(dict.fromkeys(alike))}."] if alike else []
    if not alike and not rows:
        lines = ["Neither capture tells how it was made (GPU, driver, CUDA, profiler)."]
    lead = " ".join([*(f"Not compared: {why}." for why in diff.refused), *diff.unlike])
    title = "Made differently" if rows else "How they were made"
    return Section(title, ["capture", "what", "A", "B"], rows, lines, lead)


def _times(ratios: Sequence[Ratio]) -> Section:
    rows = [[f"{ratio.metric} of {ratio.region}", *_ratio_cells(ratio)] for ratio in ratios]
    return Section("Unprofiled times", ["time", "A", "B", "B / A", "B is"], rows, _few(ratios))


def _few(ratios: Iterable[Ratio]) -> list[str]:
    """Return the line that says why some times are only described, if some are."""
    if all(ratio.verdict != "described" for ratio in ratios):
        return []
    return [f"Described: fewer than {LEAST_PROCESSES} processes a side; others may differ by more."]


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
    lines += _few(ratio for cell in diff.cells for ratio in cell.timing)
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


def counters(a: Tables, b: Tables) -> list[Section]:
    """Return a section for each kernel whose time under Nsight Compute changed most."""
    return kernels(compare(a, b))


def _memory_headline(diff: MemoryDiff) -> str:
    """Return the phase whose peak changed most, and the line of code behind it."""
    changed = [site for site in diff.sites if site.delta]
    if not diff.sites and (diff.only_a or diff.only_b):
        return "A and B have no phase in common."
    if not changed:
        return "No peak holds another number of bytes."

    def change(phase: str) -> int:
        a, b = diff.peak(phase)
        return b - a

    phase = max({site.phase for site in changed}, key=lambda phase: (abs(change(phase)), phase))
    largest = max(
        (site for site in changed if site.phase == phase), key=lambda site: abs(site.delta)
    )
    a, b, by = _sizes(diff.peak(phase))
    where = f"The peak of {phase}" if phase else "The peak"
    return (
        f"{where} goes from {a} to {b} ({by}); the largest change: {largest.site},"
        f" {size(largest.delta, signed=True)}.{_unseen(diff)}"
    )


def _unseen(diff: MemoryDiff) -> str:
    """Return the bytes allocated before the histories began; empty where there are none."""
    if not any(diff.before):
        return ""
    a, b, _ = _sizes(diff.before)
    return f" Allocated before the histories began, and not counted: {a} in A, {b} in B."


def memory(diff: MemoryDiff) -> list[Section]:
    """Return pools, then for each phase and graph's pool the sites that changed most."""
    pools = [[pool.pool, *_sizes(pool.reserved), *_sizes(pool.allocated)] for pool in diff.pools]
    head = ["pool", "reserved, A", "B", "change", "allocated, A", "B", "change"]
    alike: dict[str, list[str]] = {}
    tables: dict[str, list[list[str]]] = {}
    for phase in diff.phases:
        rows = _phase(diff, phase)
        alike.setdefault(str(rows), []).append(phase)
        tables[str(rows)] = rows
    only = "; ".join(
        f"only in {side}: {', '.join(phase or _NO_PHASE for phase in phases)}"
        for side, phases in (("A", diff.only_a), ("B", diff.only_b))
        if phases
    )
    lines = [f"Phases {only}."] if only else []
    first = [Section("Memory by pool", head, pools, lines)] if pools or lines else []
    return first + [
        Section(f"Memory at the peak{_of(alike[key])}", ["site", "A", "B", "change"], rows)
        for key, rows in tables.items()
        if rows
    ]


def _of(phases: list[str]) -> str:
    """Return which phases' peak it is; the history's where none is marked."""
    return f" of {', '.join(phase or _NO_PHASE for phase in phases)}" * any(phases)


def _phase(diff: MemoryDiff, phase: str) -> list[list[str]]:
    sites = [site for site in diff.sites if site.phase == phase and site.delta]
    if not sites:
        return []
    rows = [[site.site, *_sizes(site.bytes)] for site in sites[:_MOST_SITES]]
    rest = sites[_MOST_SITES:]
    if rest:
        both = (sum(site.bytes[0] for site in rest), sum(site.bytes[1] for site in rest))
        rows.append([f"{len(rest)} other sites", *_sizes(both)])
    since = " of what the history saw" * any(diff.before)
    return [*rows, [f"all that was held at the peak{since}", *_sizes(diff.peak(phase))]]


def _sizes(both: tuple[int, int]) -> list[str]:
    a, b = both
    return [size(a), size(b), size(b - a, signed=True)]
