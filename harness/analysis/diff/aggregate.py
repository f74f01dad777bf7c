"""One capture's side of each row of a difference: operations summed by name."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis.diff.match import LaunchedKernel
from harness.analysis.diff.significance import LEAST
from harness.analysis.diff.step_breakdown import Breakdown

SHAPES = ("grid", "block", "registers", "shared_bytes")


@dataclass(frozen=True)
class Aggregate:
    """One capture's part of a row, over all steps that are compared; times in ns.

    ``by_step`` sums to ``total_ns``; an overlap counts negative. ``each`` holds every launch's
    duration where the steps are too few to show how they vary. ``shapes``: the values of SHAPES
    that the commonest launch has.
    """

    names: tuple[str, ...] = ()
    count: int = 0
    total_ns: int = 0
    by_step: tuple[int, ...] = ()
    each: tuple[int, ...] = ()
    bytes: int | None = None
    shapes: tuple[tuple[str, str], ...] = ()


def of_times(by_step: Sequence[int]) -> Aggregate:
    """Return the side of an overlap or a gap, from its time in each step."""
    return Aggregate(total_ns=sum(by_step), by_step=tuple(by_step))


def by_name(breakdown: Breakdown, kinds: Sequence[str]) -> dict[str, Aggregate]:
    """Return the side of each operation of these kinds, by name."""
    ops = breakdown.ops.filter(pl.col("kind").is_in(kinds))
    times: dict[str, list[int]] = {}
    for name, step, total in (
        ops.group_by("name", "step").agg(pl.col("duration_ns").sum()).iter_rows()
    ):
        times.setdefault(name, [0] * len(breakdown.steps))[step] = total
    few = len(breakdown.steps) < LEAST
    rows = ops.group_by("name").agg(
        pl.len().alias("count"),
        pl.col("duration_ns") if few else pl.col("duration_ns").head(0),
        pl.when(pl.col("bytes").count() > 0).then(pl.col("bytes").sum()).alias("bytes"),
        *(pl.col(shape).cast(pl.String).drop_nulls().mode().sort().first() for shape in SHAPES),
    )
    return {
        row["name"]: Aggregate(
            names=(row["name"],),
            count=row["count"],
            total_ns=sum(times[row["name"]]),
            by_step=tuple(times[row["name"]]),
            each=tuple(row["duration_ns"]),
            bytes=row["bytes"],
            shapes=tuple((shape, row[shape]) for shape in SHAPES if row[shape] is not None),
        )
        for row in rows.iter_rows(named=True)
    }


def launched(breakdown: Breakdown, kinds: Sequence[str]) -> list[LaunchedKernel]:
    """Return the operations of ``kinds`` by name: count, first place in a step, and ranges."""
    ops = breakdown.ops.filter(pl.col("kind").is_in(kinds)).sort("step", "start_ns")
    order = ops.with_columns(pl.int_range(pl.len()).over("step").alias("order"))
    rows = order.group_by("name", maintain_order=True).agg(
        pl.len(), pl.col("order").min(), pl.col("path").drop_nulls().unique()
    )
    return [
        LaunchedKernel(name, count, order, frozenset(paths))
        for name, count, order, paths in rows.iter_rows()
    ]


def together(sides: Sequence[Aggregate], steps: int) -> Aggregate:
    """Return the sum of several sides; of none, an empty side of ``steps`` steps."""
    if len(sides) == 1:
        return sides[0]
    by_step = tuple(sum(side.by_step[at] for side in sides) for at in range(steps))
    sizes = [side.bytes for side in sides if side.bytes is not None]
    return Aggregate(
        names=tuple(name for side in sides for name in side.names),
        count=sum(side.count for side in sides),
        total_ns=sum(by_step),
        by_step=by_step,
        bytes=sum(sizes) if sizes else None,
    )
