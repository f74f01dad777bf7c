"""Everything that changed between two cells, in each kind of capture that both have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.diff import counters, gpu, likeness, load, memory, timing
from harness.analysis.diff.counters import KernelCounters
from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.diff.load import LoadDiff
from harness.analysis.diff.memory import MemoryDiff
from harness.analysis.diff.timing import Ratio
from harness.evidence.kinds import KINDS, by_cost
from harness.evidence.tables import Tables

if TYPE_CHECKING:
    import polars as pl

_TIMES, _GPU_WORK, _COUNTERS, _MEMORY = "samples", "gpu_ops", "counters", "memory_pools"
_REQUESTS = "load_requests"
_ROWS = {_GPU_WORK: "GPU work", _COUNTERS: "profiled kernel", _REQUESTS: "request"}
"""Table to the noun for one of its rows, in messages."""

Both = tuple[Tables, Tables]
Made = tuple[Mapping[str, str], Mapping[str, str]]


@dataclass(frozen=True)
class Condition:
    """Something that two sides were made with, where it differs or one side does not tell."""

    kind: str
    what: str
    a: str
    b: str


@dataclass(frozen=True)
class CellDiff:
    """What differs in how two sides were made, then what changed; None was not recorded by both.

    ``alike`` holds the conditions that both sides tell and agree in. ``unlike`` says why the two
    timelines may not be of one program, or not comparable, ``other_programs`` whether the first of
    these is said; ``refused`` what was recorded and cannot be compared, and why.
    """

    differing: tuple[Condition, ...]
    refused: tuple[str, ...]
    alike: tuple[Condition, ...] = ()
    unlike: tuple[str, ...] = ()
    other_programs: bool = False
    timing: tuple[Ratio, ...] = ()
    gpu: GpuDiff | None = None
    gpu_kind: str | None = None
    counters: tuple[KernelCounters, ...] = ()
    memory: MemoryDiff | None = None
    load: LoadDiff | None = None


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
    captures: Mapping[str, Both],
    made: Mapping[str, Made],
    *,
    paired: bool,
    ranges: str | None = None,
) -> CellDiff:
    """Return the difference of two cells' captures, made under these conditions.

    ``paired``: timed in one run, in rounds beside each other. ``ranges``: the steps' name.
    """
    conditions_of = {kind: _known(made[kind], both) for kind, both in captures.items()}
    conditions = [each for kind in captures for each in _conditions(kind, *conditions_of[kind])]
    not_compared = {
        kind: why
        for kind, both in captures.items()
        if (why := refused(KINDS[kind].compared_by, *both))
    }
    # Of the kinds that are compared by one table, the cheapest that both sides have.
    by_table: dict[str | None, str] = {}
    for kind in by_cost():
        if kind.name in captures and kind.name not in not_compared:
            by_table.setdefault(kind.compared_by, kind.name)
    sides = {table: captures[name] for table, name in by_table.items()}
    work = gpu.compare(*sides[_GPU_WORK], ranges) if _GPU_WORK in sides else None
    if work and (why := _whole_against_step(work)):
        not_compared[by_table[_GPU_WORK]], work = why, None
    unlike, other = [], ""
    if work:
        tracing = conditions_of[by_table[_GPU_WORK]]
        other = likeness.other_programs(work, *tracing)
        unlike = [*likeness.unlike(work, *tracing), *filter(None, [other])]
    return CellDiff(
        tuple(each for each in conditions if each.a != each.b),
        tuple(f"{kind}: {why}" for kind, why in not_compared.items()),
        tuple(each for each in conditions if each.a == each.b),
        tuple(unlike),
        bool(other),
        timing=tuple(timing.compare(*sides[_TIMES], paired=paired)) if _TIMES in sides else (),
        gpu=work,
        gpu_kind=by_table[_GPU_WORK] if work else None,
        counters=tuple(counters.compare(*sides[_COUNTERS])) if _COUNTERS in sides else (),
        memory=memory.compare(*sides[_MEMORY]) if _MEMORY in sides else None,
        load=load.compare(*sides[_REQUESTS]) if _REQUESTS in sides else None,
    )


def _whole_against_step(diff: GpuDiff) -> str:
    """Return why timelines are not compared of which one has steps, "" where both or none have."""
    a, b = diff.ranges
    if bool(a) == bool(b):
        return ""
    whole, stepped = ("B", "A") if a else ("A", "B")
    return (
        f"{whole} is a whole capture, {stepped} has steps ({a or b}); name a range that marks"
        " steps of both: --range NAME"
    )


def _known(made: Made, captured: Both) -> Made:
    a, b = (likeness.with_tables(*side) for side in zip(made, captured, strict=True))
    return a, b


def _conditions(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Condition]:
    unknown = "not told"
    return [
        Condition(kind, what, a.get(what, unknown), b.get(what, unknown))
        for what in dict.fromkeys([*a, *b])
    ]


def refused(table: str | None, a: Tables, b: Tables) -> str:
    """Return why two captures cannot be compared by a table, "" if they can."""
    if table is None:
        return "captures of this kind are not compared"
    lacking = [
        f"{side}{', only work of the CPU' if _only_host(table, tables) else ''}"
        for side, tables in (("first", a), ("second", b))
        if _measured(table, tables).is_empty()
    ]
    if lacking:
        return f"no {_ROWS.get(table, 'measurement')} in the {' and the '.join(lacking)}"
    metrics = [set(tables[table]["metric"].unique()) for tables in (a, b) if table == _COUNTERS]
    if metrics and metrics[0].isdisjoint(metrics[1]):
        return "no metric that both have"
    return ""


def _only_host(table: str, tables: Tables) -> bool:
    """Return whether a capture without GPU work holds operators."""
    return table == _GPU_WORK and tables[table].is_empty() and not tables["operators"].is_empty()


def _measured(table: str, tables: Tables) -> "pl.DataFrame":
    """Return the rows of a table that can be compared: GPU work has its times."""
    rows = tables[table]
    return rows.drop_nulls(["start_ns", "duration_ns"]) if table == _GPU_WORK else rows
