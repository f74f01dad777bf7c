"""What only tries how to compute: rounds of a kernel's configurations, and calls of cuDNN's.

triton.testing.do_bench, by which Triton's autotuner and torch's inductor time a configuration,
writes a buffer of 256 MB before each timed run, so that the kernel finds nothing in the L2 cache
(triton-lang/triton, python/triton/testing.py). No other pattern of a program runs one kernel so.

A convolution in benchmark mode runs each algorithm, waits for its event, and only then computes.
"""

import polars as pl

from harness.analysis import intervals
from harness.evidence.capture import BENCHMARK, EVENT_WAIT

FLUSH_NS = 30_000
"""256 MB take 33 µs to write at 8 TB/s, the memory bandwidth of a B200; longer on those before."""
LEAST = 10
"""Timed runs of one round of trials: do_bench takes five to estimate how long one lasts, and then
as many as fit into 100 ms. Fewer than these are no round, or are of a kernel of 20 ms."""

_FILL = "FillFunctor"
"""What torch's kernel that fills a buffer has in its name (aten/src/ATen/native/cuda)."""

_ROUNDS = {"kernel": pl.String, "trials": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}


def of(ops: pl.DataFrame) -> pl.DataFrame:
    """Return the rounds of trials of one device: kernel, trials, start_ns and end_ns, by start.

    ``ops`` are its operations, with kind, name, start_ns and duration_ns. A round is a stretch of
    one kernel's runs and large fills alone.
    """
    long = ops.filter(pl.col("duration_ns") >= FLUSH_NS)
    names = [name for name in long["name"].cast(pl.String).drop_nulls().unique() if _FILL in name]
    fills = (pl.col("kind") == "memset") | pl.col("name").is_in(names)
    flush = (fills & (pl.col("duration_ns") >= FLUSH_NS)).fill_null(value=False)
    if long.filter(flush).height < LEAST:
        return pl.DataFrame(schema=_ROUNDS)
    rows = ops.sort("start_ns").select(
        flush=flush,
        kernel=pl.when(~flush).then(pl.col("name").cast(pl.String)),
        start_ns="start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    runs = pl.col("kernel").backward_fill().rle_id()  # a fill belongs to the run behind it
    rounds = rows.group_by(runs.alias("round"), maintain_order=True).agg(
        pl.col("kernel").drop_nulls().first(),
        pl.col("flush").sum().cast(pl.Int64).alias("trials"),
        pl.col("kernel").count().alias("runs"),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
    )
    tried = (pl.col("trials") >= LEAST) & (pl.col("runs") >= pl.col("trials"))
    return rounds.filter(tried).select(list(_ROUNDS))


def without(ops: pl.DataFrame) -> pl.DataFrame:
    """Return the operations that are no ``trial``: what findings other than of trials count."""
    return ops.filter(~pl.col("trial"))


def of_calls(api_calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.Series:
    """Return the correlations of what calls in benchmark mode launch before their last wait.

    ``ranges`` name such calls (BENCHMARK), as torch's captures do. What one launches after its last
    wait is the convolution itself.
    """
    spans = ranges.filter(pl.col("name").cast(pl.String).str.starts_with(BENCHMARK))
    spans = spans.select(
        "thread", "start_ns", call="start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
    )
    calls = api_calls.select("name", "thread", "start_ns", "correlation").drop_nulls("start_ns")
    inside = intervals.ordered(calls, "start_ns").join_asof(
        spans.drop_nulls().sort("start_ns"), on="start_ns", by="thread", check_sortedness=False
    )
    inside = inside.filter(pl.col("start_ns") < pl.col("end_ns"))
    waits = pl.col("name").cast(pl.String).str.contains(EVENT_WAIT)
    last = pl.col("start_ns").filter(waits).max().over("thread", "call")
    return inside.filter(pl.col("start_ns") < last)["correlation"].drop_nulls()
