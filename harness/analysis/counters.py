"""The counters of Nsight Compute that a kernel is first judged by, one row a profiled launch."""

import math

import polars as pl

# Column to (Nsight Compute's metric, unit to convert to). A metric is absent where the section that
# holds it was not collected or the architecture lacks it; the column is then null.
_METRICS = {
    "time_ns": ("gpu__time_duration.sum", "ns"),
    "dram_bytes_per_s": ("dram__bytes.sum.per_second", "byte/s"),
    "dram_read_bytes": ("dram__bytes_read.sum", "byte"),
    "dram_write_bytes": ("dram__bytes_write.sum", "byte"),
    "dram_pct": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "sm_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "tensor_pct": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%"),
    "occupancy_pct": ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    "registers": ("launch__registers_per_thread", ""),
    "waves": ("launch__waves_per_multiprocessor", ""),
}

_DECIMAL = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

# ncu scales units to the value unless told `--print-units base`; its prefixes are decimal.
_SCALES = {
    "ns": {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6}
    | {"s": 1e9, "second": 1e9},
    "byte": {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12},
    "byte/s": {"byte/s": 1.0, "byte/second": 1.0}
    | {f"{prefix}byte/{s}": scale for s in ("s", "second") for prefix, scale in _DECIMAL.items()},
    "%": {"%": 1.0},
}


def scale(unit: str | None) -> float:
    """Return the factor from ``unit`` to ns, byte, byte/s or %; 1 for units without a prefix."""
    return next((scales[unit] for scales in _SCALES.values() if unit in scales), 1.0)


def per_kernel(counters: pl.DataFrame) -> pl.DataFrame:
    """Return one row a profiled launch, in launch order; what was not measured is null.

    Columns: launch, name, grid, block; time_ns (with ncu's serialisation, never a latency);
    dram_read_bytes, dram_write_bytes, dram_bytes (both, or where they were not collected the rate
    times the time, by which ncu itself defines the rate); dram_pct, sm_pct (of peak throughput over
    the elapsed cycles); tensor_pct (tensor pipe, of the active cycles), occupancy_pct (achieved);
    registers per thread; waves. A value whose unit is unknown, or that is negative, counts as not
    measured.
    """
    wanted = [metric for metric, _ in _METRICS.values()]
    rows = counters.filter(pl.col("metric").is_in(wanted)).with_columns(
        pl.col("metric", "unit").cast(pl.String)
    )
    launches = counters.group_by("launch").agg(
        pl.col("name", "grid", "block").first().cast(pl.String)
    )
    measured = rows.group_by("launch").agg(
        _value(metric, unit).alias(column) for column, (metric, unit) in _METRICS.items()
    )
    return (
        launches.join(measured, on="launch", how="left")
        .sort("launch")
        .with_columns(
            pl.coalesce(
                pl.col("dram_read_bytes") + pl.col("dram_write_bytes"),
                pl.col("dram_bytes_per_s") * pl.col("time_ns") / 1e9,
            ).alias("dram_bytes"),
            pl.col("registers").cast(pl.Int64, strict=False),
        )
        .select(
            *("launch", "name", "grid", "block", "time_ns"),
            *("dram_read_bytes", "dram_write_bytes", "dram_bytes", "dram_pct", "sm_pct"),
            *("tensor_pct", "occupancy_pct", "registers", "waves"),
        )
    )


def by_kernel(launches: pl.DataFrame) -> pl.DataFrame:
    """Return one row a kernel name of :func:`per_kernel`'s rows, the longest in total first.

    Columns: name, launches, total_ns, median_ns, min_ns, max_ns (over the launches whose time was
    measured), shapes (how many there are), and the median over launches of dram_pct, sm_pct,
    tensor_pct, occupancy_pct, registers and waves; null where no launch has it.
    """
    time = pl.col("time_ns")
    middling = ("dram_pct", "sm_pct", "tensor_pct", "occupancy_pct", "registers", "waves")
    return (
        launches.group_by("name")
        .agg(
            pl.len().alias("launches"),
            pl.when(time.count() > 0).then(time.sum()).alias("total_ns"),
            time.median().alias("median_ns"),
            time.min().alias("min_ns"),
            time.max().alias("max_ns"),
            pl.struct("grid", "block").n_unique().alias("shapes"),
            pl.col(*middling).fill_nan(None).median(),
        )
        .sort("total_ns", "name", descending=[True, False], nulls_last=True)
    )


def of_longest_kernel(counters: pl.DataFrame) -> dict[str, float]:
    """Return every metric of the longest profiled kernel, under Nsight Compute's name and unit.

    Empty where any kernel's time was not measured: another could be longer. What is no finite
    number is left out.
    """
    kernels = per_kernel(counters)
    if kernels.is_empty() or kernels["time_ns"].null_count():
        return {}
    (launch,) = kernels.sort("time_ns", "launch", descending=[True, False])["launch"][:1]
    rows = counters.filter(pl.col("launch") == launch).unique("metric", keep="first")
    values = rows.select(pl.col("metric").cast(pl.String), "value").drop_nulls().iter_rows()
    return {metric: value for metric, value in values if math.isfinite(value)}


def _value(metric: str, unit: str) -> pl.Expr:
    """Return a metric's value of the group, in ``unit``; null where it is below 0."""
    value: pl.Expr = pl.when(pl.col("value") >= 0).then("value")
    if unit in _SCALES:
        scales = _SCALES[unit]
        value = value * pl.col("unit").replace_strict(scales, default=None, return_dtype=pl.Float64)
    return value.filter(pl.col("metric") == metric).first()
