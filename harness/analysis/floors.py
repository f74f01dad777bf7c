"""The least time of operations on a GPU: their bytes over its bandwidth, or FLOP over its peak.

Bytes and operations are those that an operator cannot do without (harness.analysis.operator_work),
rates the datasheet's and, where this GPU was calibrated, the measured ones. Bytes are taken to come
from device memory: an operator whose inputs a cache still holds may be faster than its floor.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, datasheets, paged_attention, roofline
from harness.analysis.datasheets import Peaks
from harness.analysis.least_work import Work
from harness.analysis.operator_work import work
from harness.analysis.roofline import Roof
from harness.evidence.tables import Tables

MEMORY, ARITHMETIC = "memory", "arithmetic"
COPY, FILL = "copy", "fill"
"""Families of operations that are no operator's: their bytes are recorded."""
_FASTER = 1.05
"""A floor this much longer than the time is no rounding: calibrated rates repeat within 1 %
(docs/measurement.md), and clocks of the host and the GPU round times to 32 ns."""
_CALL = ("operator", "call")
_KIND = ("operator", "inputs", "lengths")
"""What calls of one floor share; ``lengths``: the annotation of what is attended to."""
_NONE = {"family": pl.String, "bound": pl.String, "floor_ns": pl.Float64, "ceiling_ns": pl.Float64}


@dataclass(frozen=True)
class Rates:
    """What one GPU does at most: by its datasheet, and by calibration (GB/s, TFLOP/s by name)."""

    sheet: Peaks
    measured: dict[str, float]

    def least_ns(self, least: Work) -> tuple[float, str, float | None]:
        """Return the floor by the datasheet, its limit, and the floor by calibration if any."""
        by_sheet = Roof("datasheet", self.sheet.dram_gb_s, self._peak(least.kind))
        ms, bound = by_sheet.least_time(least.moved_bytes, least.flop)
        bandwidth = roofline.bandwidth(self.measured)
        if not bandwidth:
            return ms * 1e6, bound, None
        rate = self.measured.get(least.kind, self._peak(least.kind))
        reached, _ = Roof("measured", bandwidth, rate).least_time(least.moved_bytes, least.flop)
        return ms * 1e6, bound, reached * 1e6

    def _peak(self, kind: str) -> float:
        """Return TFLOP/s of a kind; infinite where it is not known: no floor rests on it then."""
        if kind == "tf32":
            return max(self.sheet.tf32 or 0.0, self.sheet.fp32 or 0.0) or math.inf
        return (self.sheet.rate(kind) if kind else None) or math.inf


def rates(tables: Tables, device: int | None, gpu: str = "") -> Rates | None:
    """Return the rates of a device of a capture, as ``sheet`` finds it."""
    found = sheet(tables, device, gpu)
    return None if found is None else Rates(found, roofline.best(tables))


def sheet(tables: Tables, device: int | None, gpu: str = "") -> Peaks | None:
    """Return the datasheet of a device of a capture, None where it is not known here.

    ``gpu``: its name where the tables hold none.
    """
    devices = tables["devices"]
    mine = devices.filter(pl.col("device").eq_missing(pl.lit(device, pl.Int64)))
    mine = mine if mine.height else devices.head(1)
    names = mine["name"].drop_nulls()
    if len(names) or gpu or mine.is_empty():
        return datasheets.of(str(names[0]) if len(names) else gpu)
    return datasheets.of_size(*mine.select("multiprocessors", "memory_bytes").row(0))


def with_origins(ops: pl.DataFrame, origins: pl.DataFrame) -> pl.DataFrame:
    """Return operations with the operator, inputs and call of their launch, null without."""
    first = origins.select("correlation", *_CALL, "inputs").unique("correlation", keep="first")
    return ops.join(first, on="correlation", how="left", maintain_order="left")


def with_floors(ops: pl.DataFrame, at_most: Rates | None, time: str) -> pl.DataFrame:
    """Return operations with family, bound, floor_ns and ceiling_ns; null where no shape is known.

    An operator's floor is of all kernels that one call of it launched: each has the part of it that
    it has of the call's time, which is in the column ``time``. ``ops`` has operator, inputs and
    call, the columns of gpu_ops, and may have in_graph: whether a graph replays it, and batch: the
    engine's annotation around it.
    """
    if at_most is None:
        return ops.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in _NONE.items())
    texts = ("kind", "name", "copy_kind", "operator", "inputs")
    rows = ops.with_columns(pl.col(texts).cast(pl.String)).with_row_index("row")
    if "batch" not in rows.columns:
        rows = rows.with_columns(batch=pl.lit(None, pl.String))
    calls = _with_least(rows.filter(pl.col("kind") == "kernel"), at_most)
    replay = pl.lit(None)
    if "in_graph" in ops.columns:  # a captured call runs again in each replay
        replay = pl.when("in_graph").then("correlation")
    call = (*_CALL, replay)
    took = pl.col(time).sum().over(call)
    if calls["lengths"].count():
        longest = pl.col("name").sort_by(time).last().over(call)
        calls = calls.filter(~_seen_in_part(took, longest))
    share = pl.when(pl.col(time) > 0).then(pl.col(time) / took).otherwise(0.0)
    shared = calls.with_columns(pl.col("floor_ns", "ceiling_ns") * share)
    recorded = _recorded(rows, at_most)
    found = pl.concat([shared.select("row", *_NONE), recorded.select("row", *_NONE)])
    return (
        pl.concat([ops, rows.select("row")], how="horizontal")
        .join(found, on="row", how="left", maintain_order="left")
        .drop("row")
    )


def _with_least(kernels: pl.DataFrame, at_most: Rates) -> pl.DataFrame:
    """Return kernels of operators that have a floor, with the columns of _NONE of a whole call."""
    given = kernels.filter(pl.col("operator").is_not_null() & pl.col("inputs").is_not_null())
    names = given["operator"].unique().to_list()
    paged = pl.col("operator").is_in([name for name in names if paged_attention.is_known(name)])
    keyed = given.with_columns(lengths=pl.when(paged).then("batch"))
    kinds = keyed.select(_KIND).unique()
    written = paged_attention.cache_type(kinds.select("operator", "inputs").rows())
    found = []
    for operator, inputs, lengths in kinds.iter_rows():
        if paged_attention.is_known(operator):
            least = paged_attention.work(operator, inputs, lengths, written)
        else:
            least = work(operator, inputs)
        if least is not None:
            ns, bound, ceiling = at_most.least_ns(least)
            found.append((operator, inputs, lengths, least.family, bound, ns, ceiling))
    known = pl.DataFrame(found, schema={**dict.fromkeys(_KIND, pl.String), **_NONE}, orient="row")
    return keyed.join(known, on=_KIND, how="inner", nulls_equal=True, maintain_order="left")


def _seen_in_part(took: pl.Expr, longest: pl.Expr) -> pl.Expr:
    """Return whether calls are of layers that attend to a window of the lengths that are stated.

    No input says it, but such a call is faster than reading them whole. Of equal inputs, those that
    run the same kernels are alike: where a library has another kernel for windows, the other layers
    keep their floor.
    """
    faster = pl.col("floor_ns") > _FASTER * took
    return pl.col("lengths").is_not_null() & faster.any().over(*_KIND, longest)


def _recorded(rows: pl.DataFrame, at_most: Rates) -> pl.DataFrame:
    """Return memsets and copies within the device's memory, whose bytes the capture holds."""
    within = (pl.col("kind") == "copy") & (pl.col("copy_kind") == "Device-to-Device")
    filled = pl.col("kind") == "memset"
    moved = rows.filter(within | filled, pl.col("bytes") > 0)
    times = pl.when(pl.col("kind") == "copy").then(2).otherwise(1)
    measured = roofline.bandwidth(at_most.measured)
    took = times * pl.col("bytes")
    return moved.with_columns(
        family=pl.when(pl.col("kind") == "copy").then(pl.lit(COPY)).otherwise(pl.lit(FILL)),
        bound=pl.lit(MEMORY),
        floor_ns=took / at_most.sheet.dram_gb_s,
        ceiling_ns=took / measured if measured else pl.lit(None, pl.Float64),
    )


@dataclass(frozen=True)
class Part:
    """Operations of one family: their time and floor in ns, and the limit of most of that floor."""

    family: str
    time_ns: float
    floor_ns: float
    bound: str

    @property
    def reached(self) -> float:
        """Return the fraction of the limit that was reached."""
        return self.floor_ns / self.time_ns if self.time_ns else 0.0


@dataclass(frozen=True)
class Unknown:
    """Operations of one operator that have no floor, and whether its inputs were recorded."""

    operator: str
    time_ns: float
    recorded: bool


@dataclass(frozen=True)
class Floor:
    """The floor of operations, in ns. ``parts``: by family, the longest first.

    ``work_ns`` is the time of those that compute, ``exchange_ns`` of those that communicate or copy
    from and to the host, which have no floor here, as those without a known shape
    (``unknown_ns``, by operator in ``unknowns``, the longest first): all of these count as they
    are. ``faster_ns``: of operators that were faster
    than device memory or arithmetic allow. ``ceiling_ns``: the floor at the rates that calibration
    reached, None without.
    """

    parts: tuple[Part, ...]
    work_ns: float
    exchange_ns: float
    unknown_ns: float
    faster_ns: float
    floor_ns: float
    ceiling_ns: float | None
    unknowns: tuple[Unknown, ...] = ()

    @property
    def unknown(self) -> float:
        """Return the fraction of the computing time that has no known shape."""
        return self.unknown_ns / self.work_ns if self.work_ns else 1.0

    @property
    def faster(self) -> float:
        """Return the fraction of the computing time that was faster than its floor."""
        return self.faster_ns / self.work_ns if self.work_ns else 0.0


def floor(ops: pl.DataFrame, time: str) -> Floor | None:
    """Return the floor of operations of :func:`with_floors`, None where no operator has one."""
    placed = communication.timed_work(ops.drop("end_ns", "work", "memory", strict=False))
    computing = placed.filter(pl.col("work") == communication.COMPUTE)
    known = computing.filter(pl.col("floor_ns").is_not_null())
    if not known["family"].is_in([COPY, FILL]).not_().any():
        return None
    work_ns, all_ns = float(computing[time].sum()), float(placed[time].sum())
    unknown_ns = work_ns - float(known[time].sum())
    as_is = all_ns - work_ns + unknown_ns
    capped = pl.min_horizontal("floor_ns", time)
    faster = known.filter(pl.col("floor_ns") > _FASTER * pl.col(time))
    at_ceilings = None
    if not known["ceiling_ns"].null_count():
        lowest = known.select(pl.min_horizontal("ceiling_ns", time).sum()).item()
        at_ceilings = float(lowest) + as_is
    return Floor(
        parts=tuple(_parts(known, time)),
        work_ns=work_ns,
        exchange_ns=all_ns - work_ns,
        unknown_ns=unknown_ns,
        faster_ns=float(faster[time].sum()),
        floor_ns=float(known.select(capped.sum()).item()) + as_is,
        ceiling_ns=at_ceilings,
        unknowns=tuple(_unknowns(computing.filter(pl.col("floor_ns").is_null()), time)),
    )


def _unknowns(ops: pl.DataFrame, time: str) -> Iterable[Unknown]:
    operator = pl.col("operator").cast(pl.String).fill_null("")
    rows = ops.group_by(operator, recorded=pl.col("inputs").is_not_null()).agg(pl.col(time).sum())
    longest = rows.sort(time, "operator", "recorded", descending=[True, False, False])
    for operator_name, recorded, spent in longest.iter_rows():
        yield Unknown(operator_name, float(spent), recorded)


def _parts(known: pl.DataFrame, time: str) -> Iterable[Part]:
    floors = pl.col("floor_ns")
    rows = known.group_by("family").agg(
        pl.col(time).sum().alias("time"),
        pl.min_horizontal("floor_ns", time).sum().alias("floor"),
        floors.filter(pl.col("bound") == MEMORY).sum().alias("by_memory"),
        floors.sum().alias("whole"),
    )
    for family, spent, least, by_memory, whole in rows.sort("time", descending=True).iter_rows():
        bound = MEMORY if 2 * by_memory >= whole else ARITHMETIC
        yield Part(family, float(spent), float(least), bound)
