"""Everything that changed between two cells, in each kind of capture that both have."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.analysis.diff import counters, gpu, memory, timing
from harness.analysis.diff.counters import KernelCounters
from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.diff.memory import MemoryDiff
from harness.analysis.diff.timing import Ratio
from harness.evidence.tables import Tables
from harness.problem.model import CaptureKind

Both = tuple[Tables, Tables]
Made = tuple[Mapping[str, str], Mapping[str, str]]

TIMELINES: tuple[CaptureKind, ...] = ("nsys", "torch")  # the one that costs less first


@dataclass(frozen=True)
class Condition:
    """Something that two sides were made with, where it differs or one side does not tell."""

    kind: CaptureKind
    what: str
    a: str
    b: str


@dataclass(frozen=True)
class CellDiff:
    """What differs in how two sides were made, then what changed; None was not recorded by both.

    ``refused`` says what was recorded and cannot be compared, and why.
    """

    differing: tuple[Condition, ...]
    refused: tuple[str, ...]
    timing: tuple[Ratio, ...] = ()
    gpu: GpuDiff | None = None
    gpu_kind: CaptureKind | None = None
    counters: tuple[KernelCounters, ...] = ()
    memory: MemoryDiff | None = None


@dataclass(frozen=True)
class CellTimes:
    """The unprofiled times of one cell of two runs or reports."""

    case: str
    variant: str
    timing: tuple[Ratio, ...]


@dataclass(frozen=True)
class FoldersDiff:
    """Two runs or reports: the cells that both timed, and what only one of them has."""

    cells: tuple[CellTimes, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def compare(
    captures: Mapping[CaptureKind, Both],
    made: Mapping[CaptureKind, Made],
    *,
    paired: bool,
    ranges: str | None = None,
) -> CellDiff:
    """Return the difference of two cells' captures, made under these conditions.

    ``paired``: timed in one run, in rounds beside each other. ``ranges``: the steps' name.
    """
    differing = [one for kind in captures for one in _differing(kind, *made[kind])]
    not_compared = {kind: why for kind, both in captures.items() if (why := refused(kind, *both))}
    usable = {kind: both for kind, both in captures.items() if kind not in not_compared}
    timeline = next((kind for kind in TIMELINES if kind in usable), None)
    return CellDiff(
        tuple(differing),
        tuple(f"{kind}: {why}" for kind, why in not_compared.items()),
        timing=tuple(timing.compare(*usable["timing"], paired=paired))
        if "timing" in usable
        else (),
        gpu=gpu.compare(*usable[timeline], ranges) if timeline else None,
        gpu_kind=timeline,
        counters=tuple(counters.compare(*usable["ncu"])) if "ncu" in usable else (),
        memory=memory.compare(*usable["memory"]) if "memory" in usable else None,
    )


def _differing(kind: CaptureKind, a: Mapping[str, str], b: Mapping[str, str]) -> list[Condition]:
    unknown = "not told"
    return [
        Condition(kind, what, a.get(what, unknown), b.get(what, unknown))
        for what in dict.fromkeys([*a, *b])
        if a.get(what) != b.get(what)
    ]


def refused(kind: CaptureKind, a: Tables, b: Tables) -> str:
    """Return why two captures of a kind cannot be compared, "" if they can."""
    needed = {"nsys": "gpu_ops", "torch": "gpu_ops", "ncu": "counters", "memory": "memory_pools"}
    table = needed.get(kind, "samples")
    column = {"gpu_ops": "duration_ns"}.get(table)  # null where the profiler had no time
    rows = {side: tables[table] for side, tables in (("first", a), ("second", b))}
    empty = [
        side
        for side, one in rows.items()
        if (one.drop_nulls(["start_ns", column]) if column else one).is_empty()
    ]
    if empty:
        what = {"gpu_ops": "GPU work", "counters": "profiled kernel"}.get(table, "measurement")
        return f"no {what} in the {' and the '.join(empty)}"
    if kind == "ncu" and not set(a[table]["metric"].unique()) & set(b[table]["metric"].unique()):
        return "no metric that both have"
    return ""
