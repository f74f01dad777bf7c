"""What a bare capture says of where it was made: GPU, driver, profiler."""

import re
from pathlib import Path

from harness.captures.formats import sqlite_file
from harness.captures.formats.compressed import blocks
from harness.captures.sniff import Kind
from harness.evidence.tables import Tables

Conditions = dict[str, str]
"""What (GPU, driver …) to what it was; what a capture does not tell is not there."""

_HEAD_BYTES = 1 << 16  # a trace's properties stand before its events
_GPU_OF_TRACE = re.compile(rb'"deviceProperties"\s*:\s*\[[^\]]*?"name"\s*:\s*"([^"\\]{1,100})"')
_COUNT_OF_SMS = "device__attribute_multiprocessor_count"
_CAPABILITY = "device__attribute_compute_capability_"


def of(kind: Kind, plain: Path, tables: Tables) -> Conditions:
    """Return what the capture at ``plain``, read as ``tables``, tells of its conditions."""
    if kind in ("nsys", "nsys-rep"):
        return _of_export(plain)
    if kind == "torch":
        found = _GPU_OF_TRACE.search(next(blocks(plain, _HEAD_BYTES), b""))
        return {"GPU": found[1].decode("utf-8", "replace")} if found else {}
    return _of_counters(tables) if kind == "ncu" else {}


def _of_export(plain: Path) -> Conditions:
    found: Conditions = {}
    with sqlite_file.opened(plain) as file:
        if "name" in file.columns("TARGET_INFO_GPU"):
            names = file.fetch("TARGET_INFO_GPU", {"name": "TEXT"})["name"].drop_nulls()
            found["GPU"] = ", ".join(sorted(set(names)))
        for table, name, key in (
            ("TARGET_INFO_SYSTEM_ENV", "NvDriverVersion", "driver"),
            ("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "nsys"),
        ):
            if {"name", "value"} <= file.columns(table):
                rows = file.fetch(table, {"name": "TEXT", "value": "TEXT"}).drop_nulls()
                found[key] = dict(rows.iter_rows()).get(name, "")
    return {what: value for what, value in found.items() if value}


def _of_counters(tables: Tables) -> Conditions:
    """Return what the counters tell: ncu's report names the chip's properties, not its name."""
    import polars as pl

    rows = tables["counters"].with_columns(pl.col("metric").cast(pl.String))
    first = dict(rows.group_by("metric").agg(pl.col("value").first()).iter_rows())
    major, minor = (first.get(f"{_CAPABILITY}{part}") for part in ("major", "minor"))
    found = {}
    if major is not None and minor is not None:
        found["compute capability"] = f"{major:.0f}.{minor:.0f}"
    if first.get(_COUNT_OF_SMS):
        found["SMs"] = f"{first[_COUNT_OF_SMS]:.0f}"
    return found
