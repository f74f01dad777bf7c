"""What each device did in the time that was traced, and who waited for whom in collectives.

Pure functions of one capture's ``gpu_ops``; times are unions of intervals in integer nanoseconds.
A device computes while a kernel, a graph, a memset or a copy within its own memory runs; it
communicates while a kernel of NCCL, RCCL or NVSHMEM, or a copy between devices does.
"""

import re

import polars as pl

from harness.analysis import copies, intervals
from harness.analysis.kernels import bare

COMPUTE, COMMUNICATE, COPY = "compute", "communicate", "copy"

_WORK = pl.Enum([COMPUTE, COMMUNICATE, COPY])

_NAMES = ("kind", "name", "copy_kind")
"""Columns that say what an operation does."""

_COLLECTIVE = re.compile(
    r"nccl|rccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce"
    r"|multimem_(one|two)_shot|(one|two)_shot_",
    re.IGNORECASE,
)


def communicates(kernel: str) -> bool:
    """Return whether a kernel's function, not its template arguments, is a collective's."""
    return bool(_COLLECTIVE.search(bare(kernel)[0]))


def timed_work(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return the timed rows of gpu_ops with end_ns, work (COMPUTE, COMMUNICATE, COPY) and memory.

    ``memory`` is what harness.analysis.copies says of a copy, null of all else.
    """
    rows = gpu_ops.drop_nulls(["start_ns", "duration_ns"])
    rows = rows.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    return _with_work(rows).cast(dict.fromkeys((*_NAMES, "work"), pl.String))


def _with_work(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with work and memory.

    A kernel's name alone says what it does. The other rows, which are few beside the kernels, are
    joined by their categories.
    """
    is_kernel = rows["kind"] == "kernel"
    names = rows.filter(is_kernel)["name"].unique()
    collective = pl.Series([name for name in names if communicates(name)], dtype=pl.Categorical)
    of_kernel = pl.when(pl.col("name").is_in(collective.implode())).then(pl.lit(COMMUNICATE))
    rows = rows.with_columns(work=of_kernel.otherwise(pl.lit(COMPUTE)).cast(_WORK))
    others = rows.filter(~is_kernel)
    distinct = others.select(_NAMES).unique()
    texts = distinct.cast(dict.fromkeys(_NAMES, pl.String)).rows()
    kinds = [_work(*row) for row in texts]
    memory = [copies.memory(n, d) if k == "copy" else None for k, n, d in texts]
    named = distinct.with_columns(
        work=pl.Series(kinds, dtype=_WORK), memory=pl.Series(memory, dtype=pl.String)
    )
    *_, work, sides = others.select(_NAMES).join(
        named, on=_NAMES, how="left", nulls_equal=True, maintain_order="left"
    )
    places = (~is_kernel).arg_true()
    none = pl.Series([None], dtype=pl.String).new_from_index(0, rows.height)
    return rows.with_columns(
        work=rows["work"].scatter(places, work), memory=none.scatter(places, sides)
    )


def _work(kind: str, name: str, copy_kind: str | None) -> str:
    if kind == "kernel":
        return COMMUNICATE if communicates(name) else COMPUTE
    if kind != "copy":
        return COMPUTE
    if "Peer" in f"{copy_kind} {name}":
        return COMMUNICATE
    return COMPUTE if copies.memory(name, copy_kind) == copies.DEVICE else COPY


def device_time(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return one row a device: how the time from its first operation to its last one divides.

    Columns: device, span_ns, compute_ns, communication_ns and copy_ns (in which nothing of the
    kinds named before ran), idle_ns; these four sum to span_ns. communication_total_ns and
    copy_total_ns count also what overlaps.
    """
    end = pl.col("start_ns") + pl.col("duration_ns")
    timed = gpu_ops.select("device", "start_ns", end.alias("end_ns"), *_NAMES)
    timed = timed.drop_nulls(["start_ns", "end_ns"])
    rows = _with_work(intervals.ordered(timed, "start_ns")).select(
        "device", "start_ns", "end_ns", "work"
    )
    schema = dict.fromkeys(
        (
            *("device", "span_ns", "compute_ns", "communication_ns", "copy_ns", "idle_ns"),
            *("communication_total_ns", "copy_total_ns"),
        ),
        pl.Int64,
    )
    parts = []
    for device in rows["device"].unique():
        group = rows.filter(pl.col("device").eq_missing(device))
        by_work = {
            work: group.filter(pl.col("work") == work) for work in (COMPUTE, COMMUNICATE, COPY)
        }
        compute, communication, copied = map(intervals.covered, by_work.values())
        working = group.filter(pl.col("work") != COPY)
        both = intervals.covered(working) if communication else compute
        busy = intervals.covered(group) if copied else both
        first, last = group.select(pl.col("start_ns").min(), pl.col("end_ns").max()).row(0)
        span = last - first
        row = (device, span, compute, both - compute, busy - both, span - busy)
        parts.append((*row, communication, copied))
    return pl.DataFrame(parts, schema=schema, orient="row").sort("device", nulls_last=True)


def collectives(ranks: list[pl.DataFrame]) -> pl.DataFrame:
    """Return collectives of all ranks: number, name, rank, start_ns, end_ns, waited_ns.

    ``ranks`` are gpu_ops of one device each, in any order. The nth kernel of a name is one
    collective on every rank; names that ranks launched a different number of times are left out.
    The rank that stayed in a collective for the shortest time came last: what the others stayed
    longer they waited for it (``waited_ns``). Durations are compared, so that the ranks' clocks
    need not agree.
    """
    rows = pl.concat(
        timed_work(rank)
        .filter(pl.col("work") == COMMUNICATE, pl.col("kind") == "kernel")
        .sort("start_ns")
        .select("name", "start_ns", "end_ns", rank=pl.lit(number, pl.Int64))
        .with_columns(turn=pl.int_range(pl.len()).over("name"))
        for number, rank in enumerate(ranks)
    )
    launched = rows.group_by("name", "rank").len().group_by("name")
    shared = launched.agg(pl.len() == len(ranks), alike=pl.col("len").n_unique() == 1)
    shared = shared.filter("len", "alike").select("name")
    length = pl.col("end_ns") - pl.col("start_ns")
    return (
        rows.join(shared, on="name", how="semi")
        .with_columns(waited_ns=length - length.min().over("name", "turn"))
        .with_columns(number=pl.struct("name", "turn").rank("dense").cast(pl.Int64) - 1)
        .select("number", "name", "rank", "start_ns", "end_ns", "waited_ns")
        .sort("number", "rank")
    )
