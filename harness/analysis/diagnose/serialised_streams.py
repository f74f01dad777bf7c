"""Kernels that waited for a kernel of another stream although both fit on the device."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, idle_causes
from harness.analysis.diagnose import thresholds


@dataclass(frozen=True)
class Serialised:
    """Kernels that waited: their number and time; their streams; how many of them fit at once."""

    kernels: int
    total_ns: int
    streams: int
    at_once: float


def serialised(ops: pl.DataFrame, multiprocessors: int) -> Serialised:
    """Return the kernels of a device that waited for a small kernel of another stream.

    ``ops``: the operations of a view's track. Such a kernel starts within BOUNDARY_NS of the end of
    a kernel of another stream that ran alone; it had been launched, and its own stream had been
    free, for LONG_WAIT of that kernel's time; and both grids are small.
    """
    before = pl.col("end_ns").cum_max().shift(1)
    rows = ops.sort("start_ns").with_columns(
        blocks=_blocks(),
        reach=before,
        free_ns=pl.col("end_ns").cum_max().shift(1).over("stream"),
    )
    rows = rows.with_columns(
        pl.col("stream", "start_ns", "duration_ns", "blocks", "end_ns", "work")
        .shift(1)
        .name.prefix("last_")
    )
    room = multiprocessors * thresholds.SMALL_GRID
    ready = pl.max_horizontal(
        pl.col("start_ns") - pl.col("queued_ns"), pl.col("free_ns").fill_null(0)
    )
    computes = communication.COMPUTE
    waited = rows.filter(
        pl.col("kind") == "kernel",
        pl.col("work") == computes,
        pl.col("last_work") == computes,
        pl.col("stream") != pl.col("last_stream"),
        pl.col("last_end_ns") == pl.col("reach"),
        (pl.col("start_ns") - pl.col("reach")).is_between(0, idle_causes.BOUNDARY_NS),
        pl.col("last_end_ns") - ready >= pl.col("last_duration_ns") * thresholds.LONG_WAIT,
        pl.max_horizontal("blocks", "last_blocks") <= room,
    )
    if waited.is_empty():
        return Serialised(0, 0, 0, 1.0)
    streams = waited["stream"].n_unique()
    fitting = multiprocessors / max(float(waited["blocks"].mean()), 1.0)  # type: ignore[arg-type]
    total = int(waited["duration_ns"].sum())
    return Serialised(waited.height, total, streams, max(min(streams, fitting), 1.0))


def _blocks() -> pl.Expr:
    """Return the number of thread blocks of each launch, null for what is no kernel."""
    sides = pl.col("grid").cast(pl.String).str.split(",").cast(pl.List(pl.Int64), strict=False)
    return sides.list.eval(pl.element().product()).list.first()
