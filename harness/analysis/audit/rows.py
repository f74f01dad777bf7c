"""The rows of the audit: kernels by phase, place in the model and name, and what each saves."""

import math
import re
from dataclasses import dataclass

import polars as pl

from harness.analysis import kernels, students_t
from harness.analysis.audit.limits import DRAM, LATENCY, TARGETS, TENSOR, Limits, reached
from harness.analysis.hint import for_eager, for_torch, for_training
from harness.analysis.statistics import LEVEL

_KEY = ("phase", "path", "operator", "name")
_SDPA = re.compile(
    r"aten::_(?:scaled_dot_product|flash_attention|efficient_attention|cudnn_attention)"
    r"|(?:Scaled|Flash|Efficient|Cudnn)\w*AttentionBackward|pytorch_flash::|fmha_cutlass[FB]|_sdpa_"
)
"""Operators that torch.nn.attention.sdpa_kernel chooses from, and names of their kernels in torch.
Paged attention and that of other libraries is chosen elsewhere."""
_NEAR = 0.70
_FIXES = {
    "optimizer/foreach": for_training("fused optimizer (fused=True), or the step in backward"),
    "softmax": "fused or chunked cross entropy; fused attention",
    "attention": "compare attention backends",
    "norm": (
        "fuse with its neighbours: " + for_eager("torch.compile, or ") + "a hand-written kernel"
    ),
    "elementwise": "fuse with its neighbours" + for_eager(": torch.compile"),
    "triton: pointwise": "fuse further, or into a GEMM's epilogue",
    "reduce": "fuse with its neighbours; a kernel with more blocks",
    "cast/copy": "keep the data in the type and layout that is read",
    "fill/memset": "do not fill what is overwritten" + for_torch(": set_to_none"),
    "index/gather": "sort or combine indices; fewer atomics",
    "communication": "overlap with computation",
}
"""Remedies by the family of a kernel."""


@dataclass(frozen=True)
class Saving:
    """What kernels at a fraction ``target`` of their peak would save, in ms a step."""

    target: float
    ms: float


@dataclass(frozen=True)
class Row:
    """Kernels of one name, operator and place in a phase, per step.

    ``half_width_ms``: of the 99 % interval of ``ms`` over the steps, None for a single step.
    ``dram_bytes``, ``used`` (fraction of the peak of ``limit``) and ``reread_bytes`` (read right
    after the kernel before wrote them) are None where nothing was counted. ``savings`` are those of
    TARGETS, then of the measured ceiling; empty for what no claim is made of. ``floor_ms`` is what
    the shapes of the operators' inputs say that it takes at least, None where they are not known.
    """

    phase: str
    path: str
    operator: str
    kernel: str
    launches: float
    ms: float
    half_width_ms: float | None
    dram_bytes: float | None
    reread_bytes: float | None
    dram_used: float | None
    tensor_used: float | None
    limit: str | None
    used: float | None
    savings: tuple[Saving, ...]
    fix: str
    floor_ms: float | None = None


def rows(ops: pl.DataFrame, peaks: Limits) -> tuple[Row, ...]:
    """Return the rows of the steps' operations, the longest first."""
    steps = ops["step"].n_unique()
    moved = pl.col("dram_read_bytes") + pl.col("dram_write_bytes")
    least = pl.when(pl.col("floor_ns").is_not_null()).then(pl.min_horizontal("floor_ns", "own_ns"))
    grouped = (
        _with_reread(ops)
        .with_columns(pl.col("name").cast(pl.String))
        .group_by(*_KEY)
        .agg(
            pl.len().alias("launches"),
            pl.col("own_ns").sum(),
            _all_or_null(moved).alias("dram_bytes"),
            _all_or_null(least).alias("floor_ns"),
            _all_or_null(pl.col("reread_bytes")).alias("reread_bytes"),
            *(_weighted(pl.col(f"{unit}_used")) for unit in ("dram", "tensor")),
            pl.col("limit").sort_by("own_ns").drop_nulls().last(),
            pl.struct("step", "own_ns").alias("parts"),
        )
        .sort("own_ns", *_KEY, descending=[True, False, False, False, False])
    )
    return tuple(_row(row, steps, peaks) for row in grouped.iter_rows(named=True))


def _all_or_null(value: pl.Expr) -> pl.Expr:
    """Return the sum of a column, null where any launch lacks it."""
    return pl.when(value.null_count() == 0).then(value.sum())


def _weighted(value: pl.Expr) -> pl.Expr:
    """Return the mean of a column by the operations' time, null where none has it."""
    time = pl.col("own_ns").filter(value.is_not_null()).sum()
    return pl.when(time > 0).then((value * pl.col("own_ns")).sum() / time)


def _with_reread(ops: pl.DataFrame) -> pl.DataFrame:
    """Return operations with the bytes that the kernel before wrote and this one reads at once.

    Only where memory limits both, one stream runs both, and no other lies between: at most the
    smaller of the two. A fused kernel would keep them in registers.
    """
    before = {
        name: pl.col(name).shift(1).over("step", "stream") for name in ("limit", "dram_write_bytes")
    }
    both = (pl.col("limit") == DRAM) & (before["limit"] == DRAM)
    handed = pl.min_horizontal("dram_read_bytes", before["dram_write_bytes"])
    counted = pl.col("dram_read_bytes").is_not_null()
    return ops.with_columns(reread_bytes=pl.when(both).then(handed).when(counted).then(pl.lit(0.0)))


def _row(row: dict[str, object], steps: int, peaks: Limits) -> Row:
    number = {key: value for key, value in row.items() if isinstance(value, float | int)}
    ms = number["own_ns"] / steps / 1e6
    limit = row["limit"] if isinstance(row["limit"], str) else None
    used = {DRAM: number.get("dram_used"), TENSOR: number.get("tensor_used")}.get(limit or "")
    kernel, operator = str(row["name"]), str(row["operator"])
    return Row(
        phase=str(row["phase"]),
        path=str(row["path"]),
        operator=operator,
        kernel=kernel,
        launches=number["launches"] / steps,
        ms=ms,
        half_width_ms=_half_width(row["parts"], steps),
        dram_bytes=_each(number.get("dram_bytes"), steps),
        reread_bytes=_each(number.get("reread_bytes"), steps),
        dram_used=number.get("dram_used"),
        tensor_used=number.get("tensor_used"),
        limit=limit,
        used=used,
        savings=_savings(ms, limit, used, peaks),
        fix=_fix(kernel, operator, limit, used),
        floor_ms=_each(number.get("floor_ns"), steps * 1e6),
    )


def _each(total: float | None, steps: float) -> float | None:
    return None if total is None else total / steps


def _savings(ms: float, limit: str | None, used: float | None, peaks: Limits) -> tuple[Saving, ...]:
    """Return what a row would save: a kernel that uses u of a peak takes u / target of its time.

    No target lies above what calibration reached.
    """
    if limit is None or used is None:
        return ()
    most = reached(peaks, limit)
    targets = (*(min(target, most or 1.0) for target in TARGETS), *((most,) if most else ()))
    return tuple(Saving(target, ms * max(0.0, 1 - used / target)) for target in targets)


def _half_width(parts: object, steps: int) -> float | None:
    """Return the half-width of the interval of a row's ms a step."""
    if steps < 2 or not isinstance(parts, list):
        return None
    by_step: dict[int, float] = {}
    for part in parts:
        by_step[part["step"]] = by_step.get(part["step"], 0.0) + part["own_ns"] / 1e6
    values = [*by_step.values(), *[0.0] * (steps - len(by_step))]
    mean = sum(values) / steps
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (steps - 1))
    return students_t.point(LEVEL, steps - 1) * deviation / math.sqrt(steps)


def _fix(kernel: str, operator: str, limit: str | None, used: float | None) -> str:
    """Return the family of remedies of a kernel, empty where none is known.

    ``used``: the fraction of the peak of ``limit`` that the kernel reaches.
    """
    if limit == LATENCY:
        return "fewer launches: fuse, batch, CUDA graph"
    group = kernels.family(kernel)
    if group in ("gemm", "convolution", "gemv"):
        if re.search(kernels.MISALIGNED, kernel):
            return "pad the sizes to a multiple of 8 or more elements"
        if limit == TENSOR and used is not None and used >= _NEAR:
            return "near the ceiling: fewer or narrower operations"
        if limit == DRAM:
            return "narrower weights, or more rows a product"
        return "another tile or split-K; larger products"
    if group == "attention" and (_SDPA.search(operator) or _SDPA.search(kernel)):
        return "compare attention backends" + for_torch(": torch.nn.attention.sdpa_kernel")
    if "_fused" in operator and group == "optimizer/foreach":
        return for_training("the step in backward")
    if "loss" in operator or "log_softmax" in operator:
        return "chunked cross entropy that never writes the logits"
    return _FIXES.get(group, "")
