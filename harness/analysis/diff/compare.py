"""Two subjects, or two whole runs or reports, side by side: which parts of them are compared."""

from typing import TYPE_CHECKING

from harness.analysis.diff import cells, timing
from harness.analysis.diff.cells import CellDiff, CellTimes, FoldersDiff
from harness.analysis.step import unnumbered
from harness.evidence.kinds import KINDS, by_cost, filling, unprofiled
from harness.evidence.subject import Folder, Subject
from harness.evidence.tables import Tables
from harness.ground.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

_MOST_NAMES = 8
_MOST_KERNELS = 1_000
"""Kernels of one name that are told apart, those with most time: matching takes their square."""
_OTHERS = "[other kernels]"


def compare(a: Subject, b: Subject, ranges: str | None = None) -> CellDiff:
    """Return the changes from ``a`` to ``b`` in every kind of capture that both have.

    ``ranges`` is the name of a step's range. Raises UsageError if the two have no kind in common,
    or if a timeline has no range of that name.
    """
    names = [kind.name for kind in by_cost()]
    shared = [name for name in names if name in a.captures and name in b.captures]
    if not shared:
        first, second = (" and ".join(side.captures) for side in (a, b))
        raise UsageError(
            f"nothing to compare: {first} of the first, {second} of the second",
            remedy="give two captures of one kind",
        )
    for side in (a, b) if ranges else ():
        _has_range(side, str(ranges))
    return cells.compare(
        {kind: (_kept(kind, a), _kept(kind, b)) for kind in shared},
        {kind: (a.captures[kind].conditions, b.captures[kind].conditions) for kind in shared},
        paired=bool(a.run) and a.run == b.run,
        ranges=ranges,
    )


def _kept(kind: str, side: Subject) -> Tables:
    """Return what evidence keeps of a capture, so that a file is compared like a report's cell."""
    tables = KINDS[kind].keep(side.captures[kind].tables)
    return tables | {name: _few_kernels(tables[name]) for name in ("gpu_ops",) if name in tables}


def _few_kernels(gpu_ops: "pl.DataFrame") -> "pl.DataFrame":
    """Return GPU operations whose kernels with least time have one name, if names are many."""
    import polars as pl

    is_kernel = pl.col("kind").cast(pl.String).is_in(["kernel", "graph"])
    times = gpu_ops.filter(is_kernel).group_by("name").agg(pl.col("duration_ns").sum())
    if times.height <= _MOST_KERNELS:
        return gpu_ops
    kept = times.sort("duration_ns", pl.col("name").cast(pl.String)).tail(_MOST_KERNELS)["name"]
    name = pl.col("name").cast(pl.String)
    few = pl.when(is_kernel & ~name.is_in(kept.cast(pl.String).implode())).then(pl.lit(_OTHERS))
    return gpu_ops.with_columns(few.otherwise(name).cast(gpu_ops["name"].dtype).alias("name"))


def _has_range(subject: Subject, name: str) -> None:
    for kind in filling("ranges"):
        if kind in subject.captures:
            ranges = subject.captures[kind].tables["ranges"]
            names = unnumbered(ranges)["name"].unique().drop_nulls()
            if name not in names and name not in ranges["name"]:
                listed = ", ".join(sorted(names)[:_MOST_NAMES]) or "none"
                raise UsageError(
                    f"{kind} has no range {name!r}",
                    where=subject.label,
                    remedy=f"there are: {listed}",
                )


def compare_folders(a: Folder, b: Folder) -> FoldersDiff:
    """Return the unprofiled times of every cell that both have; UsageError if there is none."""
    shared = [cell for cell in a.cells if cell in b.cells]
    if not shared:
        raise UsageError("the two have no variant and case in common")
    paired = a.origin.run.id == b.origin.run.id
    times = []
    for case, variant in shared:
        sides = [folder.subject(case, variant).captures.get(unprofiled()) for folder in (a, b)]
        if sides[0] and sides[1]:
            ratios = timing.compare(sides[0].tables, sides[1].tables, paired=paired)
            times.append(CellTimes(case, variant, tuple(ratios)))
    only = [
        tuple(".".join(cell) for cell in folder.cells if cell not in shared) for folder in (a, b)
    ]
    return FoldersDiff(tuple(times), only[0], only[1])
