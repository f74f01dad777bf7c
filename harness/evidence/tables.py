"""The narrow waist: the tables that captures become and that everything after reads.

Times are integer nanoseconds on the capture's own clock, sizes are bytes. A value that was not
measured is null, never zero. Readers return tables without the ``cell`` column; extraction adds it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.evidence.capture import Tables as Tables
from harness.evidence.load_tables import LOAD_TABLES
from harness.ground.errors import EvidenceError

if TYPE_CHECKING:
    import polars as pl

    from harness.evidence.cell_record import Artifact

VERSION = 2
"""Raised with every change that makes older evidence unreadable."""
DEFAULT_POOL, GRAPH_POOL = "default", "graph pool"
"""The name of one pool, and the prefix of the names of graphs' pools."""
FREED_POOL = "freed before the snapshot"
"""The name of the pool of segments that stood neither at the snapshot nor at a mark."""
LARGE = 200_000
"""GPU operations of one capture above which ``harness inspect`` leaves out what joins tables."""

SCHEMAS: Mapping[str, Mapping[str, str]] = {
    # One row an executed cell, which other tables call `cell`. doubt: why its times are doubtful,
    # empty if nothing was seen, null if not watched; retried: of a first try; sm_mhz: median clock
    # while it measured; idle_s: the run's pause before it; started: seconds since 1970.
    "cells": {
        "variant": "str",
        "case": "str",
        "capture": "str",
        "round": "int",
        "status": "str",
        "reason": "str",
        "wall_s": "float",
        "doubt": "str",
        "retried": "str",
        "sm_mhz": "float",
        "sm_mhz_min": "float",
        "sm_mhz_max": "float",
        "idle_s": "float",
        "started": "float",
    },
    # Repeated measurements, each kept, in order. mark: warm-up (left out of statistics), outlier
    # (kept), or empty. In a profiled cell only the latency of its steps.
    "samples": {
        "region": "str",
        "metric": "str",
        "unit": "str",
        "index": "int",
        "value": "float",
        "mark": "str",
    },
    # How a metric was sampled: steps in a sample, samples taken, those left out as warm-up, those
    # far off, the median's relative half-width, the one asked for, what ended it, and how long.
    "sampling": {
        "region": "str",
        "metric": "str",
        "steps": "int",
        "taken": "int",
        "warmup": "int",
        "outliers": "int",
        "half_width": "float",
        "target": "float",
        "stopped": "str",
        "seconds": "float",
    },
    # What this GPU can reach at most, as measured on it: the same name may stand for several GPUs.
    "ceilings": {
        "gpu": "str",
        "name": "str",
        "unit": "str",
        "value": "float",
        "low": "float",
        "high": "float",
        "rounds": "int",
    },
    # What a workload says of itself once: sizes, counts of generated code, versions.
    "facts": {"name": "str", "unit": "str", "value": "float", "text": "str"},
    # One row a GPU operation. kind: kernel, copy, memset, graph (a graph traced as one unit).
    # collective: of a kernel that communicates, in torch's words.
    "gpu_ops": {
        "kind": "category",
        "name": "category",
        "start_ns": "int",
        "duration_ns": "int",
        "device": "int",
        "stream": "int",
        "grid": "category",
        "block": "category",
        **dict.fromkeys(("registers", "shared_bytes", "bytes"), "int"),
        "copy_kind": "category",
        "correlation": "int",
        "graph_node": "int",
        "collective": "category",
    },
    # The devices that a timeline names, as the capture describes them: bandwidth of the device
    # memory in bytes per second and sm_mhz by its own properties; vendor such as NVIDIA or AMD.
    "devices": {
        "device": "int",
        "name": "str",
        "vendor": "str",
        "compute_capability": "str",
        "multiprocessors": "int",
        "sm_mhz": "float",
        "memory_bytes": "int",
        "bandwidth": "float",
        "l2_bytes": "int",
    },
    # How a capture was recorded, as far as it says so: GPU, versions, tracing, what is not read.
    "conditions": {"name": "str", "value": "str"},
    # Events that their table lacks because they have no times: what they are, their count, of how
    # many (null where not counted), and why, which continues a sentence.
    "dropped": {"table": "str", "what": "str", "count": "int", "of": "int", "why": "str"},
    # Host calls into the CUDA runtime and driver.
    "api_calls": {
        "name": "category",
        "start_ns": "int",
        "duration_ns": "int",
        "thread": "int",
        "correlation": "int",
    },
    # Calls into the operating system in which a host thread waited for another thread or process,
    # or read a file or socket, for 20 µs or longer.
    "waits": {"name": "category", "start_ns": "int", "duration_ns": "int", "thread": "int"},
    # NVTX ranges and torch's record_function annotations; duration null where one never ended.
    "ranges": {"name": "category", "start_ns": "int", "duration_ns": "int", "thread": "int"},
    # Time in which a Python frame of the program's own was the innermost ("train.py:41 load()");
    # called: the function of Python's library that it was in, null in its own lines.
    "frames": dict.fromkeys(("name", "called"), "category")
    | dict.fromkeys(("start_ns", "duration_ns", "thread"), "int"),
    # Threads of torch's autograd engine, and threads of the same process for which they run the
    # backward pass.
    "autograd_threads": {"thread": "int", "serves": "int"},
    # torch operators by name: host time with children, GPU time of kernels launched directly.
    "operators": {"name": "str", "count": "int", "total_ns": "int", "device_ns": "int"},
    # The outer torch operators of 20 µs or longer in which no call into CUDA began: on the CPU.
    "cpu_operators": {"name": "category", "start_ns": "int", "duration_ns": "int", "thread": "int"},
    # What a GPU operation's launch stood in, by correlation: the innermost operator, the node of
    # autograd that the backward pass called, and the annotations and modules around it or around
    # the operator that made the node, the outermost first. Where shapes were recorded also the
    # operator's inputs as JSON, a list each of sizes, types, strides and values, and the number of
    # its call.
    "origins": {
        "correlation": "int",
        "operator": "category",
        "node": "category",
        "scope": "category",
        "inputs": "category",
        "call": "int",
    },
    # Launches into CUDA graphs as they were captured, in order: which graph of the trace, the work
    # launched (kernel, copy, memset), the kernel if the trace names it; the rest as of origins.
    "captured_launches": {
        "graph": "int",
        "kind": "category",
        "name": "category",
        "operator": "category",
        "node": "category",
        "scope": "category",
        "inputs": "category",
        "call": "int",
    },
    # Nodes of CUDA graphs that were traced by node: the thread whose launch was captured, and when.
    "graph_nodes": {"graph_node": "int", "thread": "int", "start_ns": "int"},
    # Hardware counters, one row a profiled launch and metric, under Nsight Compute's names.
    "counters": {
        "launch": "int",
        "name": "category",
        "grid": "category",
        "block": "category",
        "metric": "category",
        "unit": "category",
        "value": "float",
    },
    # What Nsight Compute's rules estimate of a launch; speedup: percent of its time that could go.
    "rules": {
        "launch": "int",
        "name": "category",
        "rule": "category",
        "title": "category",
        "speedup": "float",
    },
    # SASS instructions of a profiled launch in the order of their addresses, where the report has
    # the section SourceCounters. executed: by warps; samples: of warps that stood there; stall: the
    # most frequent reason, and its samples; file and line null without line information.
    "instructions": {
        "launch": "int",
        "name": "category",
        "index": "int",
        "sass": "str",
        "file": "category",
        "line": "int",
        "executed": "int",
        "samples": "int",
        "stall": "category",
        "stalled": "int",
    },
    # Device memory by pool of the caching allocator at the time of the snapshot.
    "memory_pools": {
        "pool": "str",
        "segments": "int",
        "reserved_bytes": "int",
        "allocated_bytes": "int",
    },
    # What a pool's reserved bytes are, as parts that sum to them: live (asked for by live blocks),
    # rounding, awaiting free, free in used segments, free segments; null where not recorded.
    "memory_parts": {"pool": "str", "part": "str", "bytes": "int"},
    # A pool's level before the history (index -1) and after each event that changed it. Segments
    # that stood neither at the snapshot nor at a mark have no known pool. Empty where addresses are
    # not recorded.
    "memory_by_pool": {
        "index": "int",
        "pool": "category",
        "allocated_bytes": "int",
        "reserved_bytes": "int",
    },
    # Live blocks at the snapshot by pool and stack: bytes of the blocks, and bytes asked for.
    "memory_live": {
        "pool": "str",
        "site": "str",
        "stack": "str",
        "count": "int",
        "bytes": "int",
        "requested_bytes": "int",
    },
    # Blocks live when a pool first held most, by stack; bytes as rounded by the allocator. A pool's
    # rows sum to that peak; those without a stack hold what stood before the history, too, and then
    # have no count.
    "memory_pool_peaks": {
        "pool": "str",
        "site": "str",
        "stack": "str",
        "count": "int",
        "bytes": "int",
    },
    # What the driver and the allocator said as a phase ended. used: by every process on the GPU;
    # outside: used less reserved.
    "memory_marks": {
        "index": "int",
        "phase": "str",
        "time_ns": "int",
        "used_bytes": "int",
        "reserved_bytes": "int",
        "allocated_bytes": "int",
        "outside_bytes": "int",
    },
    # The parts of each pool's reserved bytes at each of those marks, as in memory_parts.
    "memory_mark_parts": {"index": "int", "pool": "str", "part": "str", "bytes": "int"},
    # Blocks that the history handed out, from the event that did to the one that freed them (null:
    # none did), and those that stood before its first event (index -1), whose site is known where
    # the snapshot has their stack; bytes as rounded by the allocator. released: the event from
    # which no tensor holds it (-1: one before the first). role: who asked (evidence/roles.py).
    "memory_blocks": {
        "index": "int",
        "freed": "int",
        "pool": "category",
        "site": "category",
        "bytes": "int",
        "released": "int",
        "role": "category",
    },
    # Segments that the history reserved; at that time free_bytes: free in the partly used segments
    # of their pool, cached_bytes: in its segments without a block. Empty where addresses are not
    # recorded; expandable segments have no rows.
    "memory_segments": {"index": "int", "freed": "int", "pool": "category"}
    | dict.fromkeys(("bytes", "free_bytes", "cached_bytes"), "int"),
    # Allocations that failed: the bytes asked for, and what the driver had free.
    "memory_failed": {
        "index": "int",
        "bytes": "int",
        "device_free_bytes": "int",
        "site": "str",
        "stack": "str",
    },
    # What was reserved and not in use at the last peak of allocated bytes, and as the last ten of
    # those allocations failed: in segments with blocks, in others, and the largest free piece.
    "memory_free": dict.fromkeys(("index", "free_bytes", "cached_bytes", "largest_bytes"), "int"),
    # The devices of a snapshot, with the length of their history; the other tables are of the one
    # that reserved most.
    "memory_devices": dict.fromkeys(
        ("device", "segments", "reserved_bytes", "allocated_bytes", "events"), "int"
    ),
    # Allocated and reserved bytes after each allocator event; phase is null before the first,
    # action as torch calls it.
    "memory_timeline": {
        "index": "int",
        "time_ns": "int",
        "phase": "category",
        "action": "category",
        "allocated_bytes": "int",
        "reserved_bytes": "int",
    },
    # Bytes requested by allocation site over the recorded history, and at the peak of each phase.
    "memory_sites": {
        "phase": "str",
        "site": "str",
        "count": "int",
        "bytes": "int",
        "peak_bytes": "int",
    },
    **LOAD_TABLES,
}


def dtype(kind: str) -> "pl.DataType":
    """Return the polars type that a schema's word stands for."""
    import polars as pl

    return {
        "str": pl.String(),
        "category": pl.Categorical(),
        "int": pl.Int64(),
        "float": pl.Float64(),
    }[kind]


def frame(table: str, columns: Mapping[str, object]) -> "pl.DataFrame":
    """Return ``columns`` as rows of ``table``: every column of its schema, in order and typed.

    A column that is not given is null throughout. Values: sequences, numpy arrays or polars series.
    In a text, a lone surrogate, which is no character, becomes a question mark.
    """
    import polars as pl

    schema = SCHEMAS[table]
    unknown = set(columns) - set(schema)
    if unknown:
        raise EvidenceError(f"table {table!r} has no column {sorted(unknown)}")
    given = {name: columns[name] for name in schema if name in columns}
    try:
        data = pl.DataFrame(given)
    except UnicodeEncodeError:
        data = pl.DataFrame({name: _as_unicode(values) for name, values in given.items()})
    missing = [pl.lit(None).alias(name) for name in schema if name not in columns]
    typed = [pl.col(name).cast(dtype(kind)) for name, kind in schema.items()]
    return data.with_columns(missing).select(typed)


def _as_unicode(values: object) -> object:
    """Return values of which every text can be encoded; JSON and pickles may hold others."""
    if not isinstance(values, list | tuple):
        return values
    return [
        value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for value in values
    ]


def empty(table: str) -> "pl.DataFrame":
    """Return ``table`` with no rows."""
    import polars as pl

    return pl.DataFrame(schema={name: dtype(kind) for name, kind in SCHEMAS[table].items()})


def unfilled(table: str) -> "pl.DataFrame":
    """Return ``table`` as evidence has it where no capture filled it: with ``cell``, no rows."""
    import polars as pl

    return empty(table).insert_column(0, pl.lit("").alias("cell"))


def save(folder: Path, tables: Tables) -> dict[str, "Artifact"]:
    """Write each table as ``<name>.parquet`` into an existing folder; rows carry their cell.

    Return size and sha256 of each file by the table's name, for the folder's provenance.
    """
    from harness.evidence import parquet

    return parquet.write(folder, tables, VERSION)


def load(folder: Path) -> Tables:
    """Read every table of an evidence folder; one that no capture filled is empty.

    Raises EvidenceError if a file is not the one that the folder's provenance lists, or is of
    another version; and what :func:`provenance.load` raises.
    """
    import polars as pl

    from harness.evidence import parquet, provenance

    schemas = {name: {"cell": "str", **schema} for name, schema in SCHEMAS.items()}
    filled = parquet.read(folder, provenance.load(folder).tables, schemas, VERSION)
    tables: Tables = {}
    for name in SCHEMAS:
        if name not in filled:
            tables[name] = unfilled(name)
            continue
        table = filled[name]
        # What an earlier harness did not extract is not measured.
        tables[name] = frame(name, {key: table[key] for key in table.columns if key != "cell"})
        tables[name] = tables[name].insert_column(0, table["cell"].cast(pl.String()))
    return tables
