"""Kernels that waited for a kernel of another stream although both fit on the device."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.idle import causes as idle_causes


@dataclass(frozen=True)
class Serialised:
    """Kernels that waited: their number, and how long they could have run beside those before them.

    ``streams`` are theirs, ``at_once`` is how many of them fit on the device.
    """

    kernels: int
    total_ns: int
    streams: int
    at_once: float


def serialised(ops: pl.DataFrame, multiprocessors: int) -> Serialised:
    """Return the small kernels of a device that waited for another stream's small kernels.

    ``ops``: the operations of a view's track. Streams alternate: a turn is what one of them runs
    until another stream's operation starts; a link between two turns belongs to the first. A turn
    waited if it starts within BOUNDARY_NS of the end of the turn before, while nothing else runs;
    and if its first kernel had been launched, and its stream had been free, for LONG_WAIT of the
    time of that turn's small kernels, in which no other turn ran: streams that ran side by side and
    meet at an event are not serialised.
    """
    turns = _turns(ops, multiprocessors * thresholds.SMALL_GRID)
    ready = pl.max_horizontal(
        pl.col("start_ns") - pl.col("queued_ns"), pl.col("free_ns").fill_null(0)
    )
    waited = turns.filter(
        pl.min_horizontal("small_ns", "last_small_ns") > 0,
        "computes",
        "last_computes",
        pl.col("last_until_ns") == pl.col("reach"),
        (pl.col("start_ns") - pl.col("reach")).is_between(0, idle_causes.BOUNDARY_NS),
        pl.col("last_end_ns") - pl.max_horizontal(ready, pl.col("last_reach").fill_null(0))
        >= pl.col("last_small_ns") * thresholds.LONG_WAIT,
    )
    if waited.is_empty():
        return Serialised(0, 0, 0, 1.0)
    streams = waited["stream"].n_unique()
    both = pl.min_horizontal("small_ns", "last_small_ns").sum()
    kernels, grids, total = waited.select(pl.col("kernels", "blocks").sum(), both).row(0)
    fitting = multiprocessors / max(grids / kernels, 1.0)
    return Serialised(kernels, total, streams, max(min(streams, fitting), 1.0))


def perhaps_serialised_ns(ops: pl.DataFrame, multiprocessors: int) -> int:
    """Return how much longer kernels waited in turns, in ns, if every unknown grid is small.

    0 where fewer than REPEATED kernels would have waited.
    """
    kernels = pl.col("kind") == "kernel"
    if ops.filter(kernels & pl.col("grid").is_null())["stream"].n_unique() < 2:
        return 0
    smallest = pl.when(kernels & pl.col("grid").is_null()).then(pl.lit("1")).otherwise("grid")
    supposed = ops.with_columns(grid=smallest.cast(pl.String))
    most, least = serialised(supposed, multiprocessors), serialised(ops, multiprocessors)
    return most.total_ns - least.total_ns if most.kernels >= thresholds.REPEATED else 0


def _turns(ops: pl.DataFrame, room: float) -> pl.DataFrame:
    """Return what streams run in turn, with the turn before as last_…; ``room``: of a small grid.

    ``kernels``, ``small_ns`` and ``blocks`` are of small kernels; ``computes``: it does no more.
    """
    sizes = ops.select("grid").unique().with_columns(size=blocks())
    sized = ops.join(sizes, on="grid", how="left", nulls_equal=True, maintain_order="left")
    rows = intervals.ordered(sized, "start_ns").with_columns(
        reach=pl.col("end_ns").cum_max().shift(1),
        free_ns=pl.col("end_ns").cum_max().shift(1).over("stream"),
    )
    rows = _without_links(rows).with_columns(turn=pl.col("stream").rle_id())
    small = (pl.col("kind") == "kernel") & (pl.col("size") <= room)
    turns = rows.group_by("turn", maintain_order=True).agg(
        pl.col("stream", "start_ns", "queued_ns", "free_ns", "reach").first(),
        pl.col("end_ns", "until_ns").max(),
        (pl.col("work") == communication.COMPUTE).all().alias("computes"),
        small.sum().alias("kernels"),
        pl.col("duration_ns").filter(small).sum().alias("small_ns"),
        pl.col("size").filter(small).sum().alias("blocks"),
    )
    before = pl.col("end_ns", "until_ns", "reach", "small_ns", "computes").shift(1)
    return turns.with_columns(before.name.prefix("last_"))


def _without_links(rows: pl.DataFrame) -> pl.DataFrame:
    """Return operations, with ``until_ns``, without the links between two streams' operations.

    A link is an operation of a third stream, far shorter than those before and behind it, such as a
    copy of a few bytes on the default stream, which waits for all others. ``until_ns`` is the end
    of the link that follows, or the operation's own.
    """
    stream, length = pl.col("stream"), pl.col("duration_ns")
    short = length <= pl.min_horizontal(length.shift(1), length.shift(-1)) * thresholds.LINK
    third = (stream != stream.shift(1)) & (stream != stream.shift(-1))
    after = (pl.col("start_ns") - pl.col("end_ns").shift(1)).is_between(0, idle_causes.BOUNDARY_NS)
    marked = rows.with_columns(link=(short & third & after).fill_null(value=False))
    linked = pl.col("link").shift(-1, fill_value=False)
    until = pl.when(linked).then(pl.col("end_ns").shift(-1)).otherwise("end_ns")
    return marked.with_columns(until_ns=until).filter(~pl.col("link"))


def blocks() -> pl.Expr:
    """Return the number of thread blocks of each launch, null for what is no kernel."""
    sides = pl.col("grid").cast(pl.String).str.split(",").cast(pl.List(pl.Int64), strict=False)
    return sides.list.eval(pl.element().product()).list.first()
