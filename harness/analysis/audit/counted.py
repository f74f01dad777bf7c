"""Hardware counters beside the launches of a step: the n-th of a kernel and shape is the n-th.

Nsight Compute profiles one step, each kernel alone. Its n-th launch of one kernel with one grid and
block is the step's n-th, as the program launches the same in each step; so the counters get the
path that the trace gives that launch. Where the two do not count as many launches of a kernel, they
did not record the same step, and that kernel has no counters.
"""

import polars as pl

from harness.analysis.counters import per_kernel
from harness.analysis.kernels import bare

COUNTERS = ("time_ns", "dram_read_bytes", "dram_write_bytes", "dram_pct", "sm_pct", "tensor_pct")
_KEY = ("kernel_key", "grid", "block")
_TENSOR_CYCLES = "sm__pipe_tensor_cycles_active.avg"
_TENSOR_FLOP = r"^sm__ops_path_tensor_src_(?:bf16|fp16)(?:_\w+)?\.sum$"


def with_counters(ops: pl.DataFrame, counters: pl.DataFrame) -> pl.DataFrame:
    """Return operations with COUNTERS (ncu's time as ncu_time_ns), tensor_flop and tensor_cycles.

    What was not counted is null. ``tensor_flop``: operations of the tensor cores on 16-bit numbers;
    ``tensor_cycles``: in which they were active, summed over those of a multiprocessor.

    ``ops`` are in launch order with step, name, grid and block.
    """
    launches = per_kernel(counters)
    for tensor in (_tensor_flop(counters), _tensor_cycles(counters)):
        launches = launches.join(tensor, on="launch", how="left", maintain_order="left")
    profiled = launches.with_columns(_keys(launches)).select(
        *_KEY,
        *COUNTERS,
        "tensor_flop",
        "tensor_cycles",
        nth=pl.int_range(pl.len()).over(*_KEY),
        profiled=pl.len().over(*_KEY),
    )
    rows = ops.with_columns(pl.col("name", "grid", "block").cast(pl.String))
    rows = rows.with_columns(_keys(rows)).with_columns(
        nth=pl.int_range(pl.len()).over("step", *_KEY), profiled=pl.len().over("step", *_KEY)
    )
    joined = rows.join(profiled, on=[*_KEY, "nth", "profiled"], how="left", maintain_order="left")
    return joined.rename({"time_ns": "ncu_time_ns"}).drop("kernel_key", "nth", "profiled")


def moved(ops: pl.DataFrame, counters: pl.DataFrame) -> pl.Series:
    """Return the bytes that each operation read and wrote, in their order; null if not counted."""
    rows = with_counters(ops, counters)
    return rows["dram_read_bytes"] + rows["dram_write_bytes"]


def _tensor_flop(counters: pl.DataFrame) -> pl.DataFrame:
    """Return launch and tensor_flop: a multiplication and its addition are two."""
    metric = pl.col("metric").cast(pl.String)
    rows = counters.filter(metric.str.contains(_TENSOR_FLOP)).group_by("launch")
    return rows.agg(pl.col("value").sum().alias("tensor_flop"))


def _tensor_cycles(counters: pl.DataFrame) -> pl.DataFrame:
    """Return launch and tensor_cycles."""
    rows = counters.filter(pl.col("metric").cast(pl.String) == _TENSOR_CYCLES)
    return rows.group_by("launch").agg(pl.col("value").sum().alias("tensor_cycles"))


def _keys(rows: pl.DataFrame) -> pl.Series:
    """Return names as bare of template arguments as both profilers print them."""
    names = rows["name"].cast(pl.String)
    keys = {name: "\n".join(bare(name)) for name in names.unique()}
    return names.replace_strict(keys, return_dtype=pl.String).alias("kernel_key")
