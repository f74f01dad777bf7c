"""Copies by direction and by the kind of their host memory, and whether they overlap kernels.

Pure functions of one capture's ``gpu_ops``. The profilers write the memory kinds behind a copy:
nsys and Kineto "(Pageable -> Device)", which is in ``name`` or ``copy_kind``.
"""

import re

import polars as pl

from harness.analysis import intervals

PAGEABLE, PINNED, DEVICE, MANAGED, UNKNOWN = "pageable", "pinned", "device", "managed", "unknown"
"""The memory of a copy's host side; DEVICE: the copy has none."""

TO_HOST, TO_DEVICE = (
    r"DtoH|Device-to-Host|DeviceToHost",
    r"HtoD|Host-to-Device|HostToDevice",
)
"""In a copy's name or ``copy_kind``: its direction, as the profilers spell it."""

_KINDS = re.compile(r"\b(\w+(?: Static)?) (?:->|to) (\w+(?: Static)?)\b")


def memory(name: str, direction: str | None = None) -> str:
    """Return the kind of a copy's host memory; UNKNOWN where neither text says it.

    ``name`` and ``direction`` are a copy's ``name`` and ``copy_kind`` in ``gpu_ops``.
    """
    for text in (direction or "", name):
        if match := _KINDS.search(text):
            sides = {side.partition(" ")[0].lower() for side in match.groups()}
            for kind in (PAGEABLE, PINNED, MANAGED):
                if kind in sides:
                    return kind
            if sides <= {"device", "array"}:
                return DEVICE
    plain = (direction or name).replace("[CUDA memcpy ", "")
    if "Host" in plain or "HtoD" in plain or "DtoH" in plain:
        return MANAGED if "Unified" in plain else UNKNOWN
    return DEVICE if "Device" in plain or "Peer" in plain or "DtoD" in plain else UNKNOWN


def with_memory(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that are copies, with ``memory`` and, as strings, ``copy_kind``."""
    rows = gpu_ops.filter(pl.col("kind") == "copy").cast(
        {"name": pl.String, "copy_kind": pl.String}
    )
    pairs = rows.select("name", "copy_kind").unique()
    kinds = [memory(name, direction) for name, direction in pairs.iter_rows()]
    named = pairs.with_columns(memory=pl.Series(kinds, dtype=pl.String))
    return rows.join(
        named, on=["name", "copy_kind"], how="left", nulls_equal=True, maintain_order="left"
    )


def of_managed_pages(gpu_ops: pl.DataFrame) -> pl.Series:
    """Return the numbers of the rows in gpu_ops that are moves of managed memory's pages."""
    rows = with_memory(gpu_ops.with_row_index("row").cast({"row": pl.Int64}))
    return rows.filter(pl.col("memory") == MANAGED)["row"]


def table(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return one row a device, direction and memory kind of copies, the longest in total first.

    Columns: device, copy_kind, memory, count, bytes, total_ns, and alone_ns: the time in which such
    a copy ran and no kernel or graph on the same device did.
    """
    ended = pl.col("start_ns") + pl.col("duration_ns")
    rows = with_memory(gpu_ops).with_columns(end_ns=ended)
    work = gpu_ops.select("device", "kind", "start_ns", end_ns=ended).filter(
        pl.col("kind").is_in(["kernel", "graph"]),
        pl.col("end_ns") > pl.lit(rows["start_ns"].min(), pl.Int64),
        pl.col("start_ns") < pl.lit(rows["end_ns"].max(), pl.Int64),
    )
    busy = {device: intervals.union(each) for (device,), each in work.group_by("device")}
    keys = ["device", "copy_kind", "memory"]
    parts = []
    for key, group in rows.group_by(keys, maintain_order=True):
        timed = group.select("start_ns", "end_ns").drop_nulls()
        alone = intervals.uncovered(timed, busy.get(key[0], timed.clear()))
        parts.append(
            group.group_by(keys).agg(
                pl.len().cast(pl.Int64).alias("count"),
                pl.when(pl.col("bytes").count() > 0).then(pl.col("bytes").sum()).alias("bytes"),
                pl.col("duration_ns").sum().alias("total_ns"),
                pl.lit(alone, pl.Int64).alias("alone_ns"),
            )
        )
    schema = {"device": pl.Int64, "copy_kind": pl.String, "memory": pl.String, "count": pl.Int64}
    schema |= {"bytes": pl.Int64, "total_ns": pl.Int64, "alone_ns": pl.Int64}
    return pl.concat([pl.DataFrame(schema=schema), *parts]).sort(
        "total_ns", *keys, descending=[True, False, False, False], nulls_last=True
    )
