"""What a GPU lets a kernel reach: its peaks, its ceilings, and how near a kernel came."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import datasheets, roofline
from harness.evidence.tables import Tables

TARGETS = (0.70, 0.85)
"""Fractions of peak that llm.c's audit asks of every kernel (karpathy/llm.c, discussion 331)."""

DRAM, TENSOR, LATENCY, NEITHER = "DRAM", "tensor", "latency", "neither"
_SHORT_NS = 5_000
"""A kernel that ends sooner spends most of its time on starting and ending."""
_FEW = 0.75
"""Blocks a multiprocessor below which a launch leaves multiprocessors without work."""
_USED = 0.1
"""The fraction of both peaks below which neither memory nor arithmetic explains a kernel's time."""
_FLOP_A_CYCLE = {"9.0": 1024.0}
"""Operations on 16-bit numbers of one tensor core in a cycle by compute capability, where kernels
of known sizes bore it out: for wgmma, the counters of reports/4-custom-hgemm. By them mma.sync is
active for half as long again, so its share of the peak is that much too high."""


@dataclass(frozen=True)
class Limits:
    """A GPU's peaks; None where they are not known.

    ``dram_gb_s`` is the datasheet's; ``dram_reached`` and ``tensor_reached`` are the fractions of
    the datasheet's peaks that calibration reached on this GPU; ``tensor_sustained``: with products
    that follow each other without rests. ``flop_a_cycle``: 16-bit operations of a tensor core in a
    cycle.
    """

    gpu: str = ""
    multiprocessors: int | None = None
    dram_gb_s: float | None = None
    dram_reached: float | None = None
    tensor_reached: float | None = None
    tensor_sustained: float | None = None
    bf16_tflop_s: float | None = None
    flop_a_cycle: float | None = None


def limits(tables: Tables, gpu: str) -> Limits:
    """Return the limits of the GPU that a capture names, or of the one its conditions name."""
    devices = tables["devices"]
    name = str(devices["name"][0]) if devices.height else gpu
    count = devices["multiprocessors"][0] if devices.height else None
    sheet = datasheets.of(name)
    measured = roofline.best(tables)
    if sheet is None:
        return Limits(name, count)
    dram = roofline.bandwidth(measured)
    bf16, sustained = measured.get("bf16"), measured.get("bf16_sustained")
    return Limits(
        gpu=name,
        multiprocessors=count,
        dram_gb_s=sheet.dram_gb_s,
        dram_reached=dram / sheet.dram_gb_s if dram else None,
        tensor_reached=bf16 / sheet.bf16 if bf16 and sheet.bf16 else None,
        tensor_sustained=sustained / sheet.bf16 if sustained and sheet.bf16 else None,
        bf16_tflop_s=sheet.bf16,
        flop_a_cycle=_FLOP_A_CYCLE.get(str(devices["compute_capability"][0]))
        if devices.height
        else None,
    )


def with_use(ops: pl.DataFrame, peaks: Limits) -> pl.DataFrame:
    """Return operations with dram_used, tensor_used (fractions of peak), limit and blocks.

    DRAM: the bytes that ncu counted over own_ns, the time on the timeline, in which caches are
    warm; ncu's own rate where the peak is not known. Tensor cores: the operations over that time
    that ncu counted, or that its active cycles stand for; else the share of cycles in which they
    were active, which is of the clock at that time and so says more than the share of the peak.
    Null where nothing was counted.
    """
    dims = pl.col("grid").cast(pl.String).str.split(",").list.eval(pl.element().cast(pl.Float64))
    moved = pl.col("dram_read_bytes") + pl.col("dram_write_bytes")
    time = pl.when(pl.col("own_ns") > 0).then("own_ns")
    replayed = pl.col("ncu_time_ns") / time
    by_rate = pl.col("dram_pct") / 100 * replayed
    used = moved / time / peaks.dram_gb_s if peaks.dram_gb_s else by_rate
    by_cycles = pl.col("tensor_pct") / 100 * replayed
    flop = pl.col("tensor_flop")
    if peaks.flop_a_cycle and peaks.multiprocessors:
        a_cycle = peaks.flop_a_cycle * peaks.multiprocessors
        flop = pl.coalesce(flop, pl.col("tensor_cycles") * a_cycle)
    rate = flop / time / 1e3  # TFLOP/s
    rows = ops.with_columns(
        dram_used=pl.coalesce(used, by_rate),
        tensor_used=pl.coalesce(rate / peaks.bf16_tflop_s, by_cycles)
        if peaks.bf16_tflop_s
        else by_cycles,
        blocks=dims.list.get(0, null_on_oob=True)
        * dims.list.get(1, null_on_oob=True)
        * dims.list.get(2, null_on_oob=True),
    )
    few = pl.lit(value=False)
    if peaks.multiprocessors:
        few = pl.col("blocks") < _FEW * peaks.multiprocessors
    most = pl.max_horizontal("dram_used", "tensor_used")
    started = ((pl.col("own_ns") < _SHORT_NS) | few) & (most < TARGETS[0])
    by_use = (
        pl.when(most < _USED)
        .then(pl.lit(NEITHER))
        .when(pl.col("tensor_used").fill_null(0) > pl.col("dram_used").fill_null(0))
        .then(pl.lit(TENSOR))
        .otherwise(pl.lit(DRAM))
    )
    limit = pl.when(most.is_null()).then(None).when(started).then(pl.lit(LATENCY)).otherwise(by_use)
    return rows.with_columns(limit=limit)


def reached(peaks: Limits, limit: str) -> float | None:
    """Return the fraction of a limit's peak that this GPU reaches at most, None if not measured."""
    return {DRAM: peaks.dram_reached, TENSOR: peaks.tensor_reached}.get(limit)
