"""How an export of Nsight Systems was recorded: machine, versions, tracing, and what is not read.

``META_DATA_CAPTURE`` holds the options of ``nsys profile``, in some versions under a process:
``PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE``.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import SqliteFile, opened
from harness.evidence import dropped
from harness.evidence.tables import Tables, empty

if TYPE_CHECKING:
    import polars as pl


_OPTIONS, _SYSTEM = "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"
_EXPORT = ("META_DATA_EXPORT", "EXPORT_META_DATA")
"""The versions of the export; the second name is that of 2022."""
_TRACED, _GRAPH_MODE = "CAPTURE_EVENT_TYPE", "CUDA_GRAPH_TRACE_OPTIONS:MODE"
_APIS = {
    "Cuda": "CUDA",
    "NvtxEvents": "NVTX",
    "CuBLAS": "cuBLAS",
    "CuDNN": "cuDNN",
    "OSRuntime": "OS runtime",
}
"""What nsys calls the traced interfaces, and their names; others are shown as nsys calls them."""

_GRAPHS = {"Graph": "CUDA graphs as a whole", "Node": "CUDA graphs by node"}
# User Guide of Nsight Systems, `--cuda-graph-trace`: node-level tracing may cost much.
_DIGITS = re.compile(r"(\d{3})(\d{2,3})(\d{2})?")
"""A driver's version of digits alone, as nsys 2022 writes it on Linux, and nsys on Windows."""
_MOST_DIGITS = 9
_SLOWER = "timing the nodes of CUDA graphs slows their replays"
_NS_OF_MS = 1e6


def conditions(path: Path, tables: Tables) -> dict[str, str]:
    """Return how the export at ``path`` was recorded, as far as it says so.

    Keys: GPU (those that ran something, by ``tables``), driver, CUDA (the driver's), profiler,
    host, tracing, tracing cost, recorded (for how long), not read, and those that ``tables`` hold.
    """
    with opened(path) as file:
        system, graphs = dict(_pairs(file, _SYSTEM)), _graphs(file, tables)
        cpu = system.get("CpuDescription", "").replace("unknown", "")
        cores = f"{system['CpuCores']} CPUs" if "CpuCores" in system else ""
        exported = dict(pair for table in _EXPORT for pair in _pairs(file, table))
        version = exported.get("EXPORT_PRODUCT_VERSION")
        traced = {
            _APIS.get(value, value) for name, value in _pairs(file, _OPTIONS) if name == _TRACED
        }
        values = {
            "GPU": ", ".join(_gpus(file, tables)),
            "driver": _driver(system.get("NvDriverVersion", "")),
            "CUDA": _cuda(system.get("CudaDriverVersion", "")),
            "profiler": f"Nsight Systems {version}" if version else "",
            "host": ", ".join(part for part in (cpu, cores, system.get("OsDescription")) if part),
            "tracing": "; ".join(part for part in (", ".join(sorted(traced)), graphs) if part),
            "tracing cost": "; ".join(_costs(file, tables, graphs)),
            "recorded": _recorded(file),
            "not read": left_out(file),
        }
        values |= dict(tables.get("conditions", empty("conditions")).rows())
        values |= dropped.condition(tables.get("dropped", empty("dropped")))
    return {label: value for label, value in values.items() if value}


def _pairs(file: SqliteFile, table: str) -> list[tuple[str, str]]:
    """Return the names and values of a table of both, none where there is no such table.

    A value that is no text is left out: nsys 2022 writes a message of bytes for ``GpuInfo``.
    """
    if not {"name", "value"} <= file.columns(table):
        return []
    columns = {"name": "TEXT", "value": "TEXT"}
    return file.fetch(table, columns, foreign=True).drop_nulls().rows()


def _gpus(file: SqliteFile, tables: Tables) -> list[str]:
    """Return the names of the GPUs that ran something; of all GPUs where that is not known."""
    import polars as pl

    if "devices" in tables and "gpu_ops" in tables:
        used = pl.col("device").is_in(tables["gpu_ops"]["device"].unique().implode())
        names = tables["devices"].filter(used)["name"].drop_nulls()
        if not names.is_empty():
            return sorted(set(names))
    if "name" not in file.columns("TARGET_INFO_GPU"):
        return []
    return sorted(set(file.fetch("TARGET_INFO_GPU", {"name": "TEXT"})["name"].drop_nulls()) - {""})


def _cuda(version: str) -> str:
    """Return the CUDA version as NVIDIA writes it: the driver counts 12040 for 12.4."""
    number = int(version) if version.isdecimal() and len(version) <= _MOST_DIGITS else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""


def _driver(version: str) -> str:
    """Return a driver's version with dots between its parts: 525.105.17 of 52510517."""
    digits = _DIGITS.fullmatch(version)
    return ".".join(part for part in digits.groups() if part) if digits else version


def _graphs(file: SqliteFile, tables: Tables) -> str:
    """Return how CUDA graphs were traced: as the options say, otherwise as the rows show."""
    import polars as pl

    for name, value in _pairs(file, _OPTIONS):
        if name.endswith(_GRAPH_MODE):
            return _GRAPHS.get(value, f"CUDA graphs: {value}")
    ops = tables.get("gpu_ops")
    if ops is None:
        return ""
    if ops.filter(pl.col("kind") == "graph").height:
        return _GRAPHS["Graph"]
    return _GRAPHS["Node"] if ops["graph_node"].count() else ""


def _costs(file: SqliteFile, tables: Tables, graphs: str) -> list[str]:
    """Return sentences on how nsys slowed the run, by what the capture records of it."""
    costs = []
    if {"start", "end"} <= file.columns("PROFILER_OVERHEAD"):
        rows = file.fetch("PROFILER_OVERHEAD", {"start": "INTEGER", "end": "INTEGER"})
        work = _covered(rows.drop_nulls(), tables.get("gpu_ops"))
        if work:
            costs.append(f"nsys's own work took {_ms(work)} of the GPU's span")
    if graphs == _GRAPHS["Node"]:
        costs.append(_SLOWER)
    return costs


def _covered(rows: "pl.DataFrame", gpu_ops: "pl.DataFrame | None") -> int:
    """Return the time in ns that rows with start and end cover between the first and last GPU work.

    They nest: a buffer is flushed while all buffers are.
    """
    import polars as pl

    ops = empty("gpu_ops") if gpu_ops is None else gpu_ops
    end = pl.col("start_ns") + pl.col("duration_ns")
    least, most = ops.select(pl.col("start_ns").min(), end.max().alias("end_ns")).row(0)
    if least is None:
        return 0
    inside = rows.select(pl.all().clip(least, most)).sort("start")
    begun = pl.max_horizontal("start", pl.col("end").cum_max().shift(1))
    return int(inside.select((pl.col("end") - begun).clip(0).sum()).item())


def _recorded(file: SqliteFile) -> str:
    if "duration" not in file.columns("ANALYSIS_DETAILS"):
        return ""
    spans = file.fetch("ANALYSIS_DETAILS", {"duration": "INTEGER"})["duration"].drop_nulls()
    return _ms(int(spans.sum())) if spans.len() == 1 else ""


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / _NS_OF_MS:,.1f} ms"


READ = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_DRIVER",
    "NVTX_EVENTS",
    "OSRT_API",
    "PROFILER_OVERHEAD",
)
# Names and properties, which are no recorded events.
_NAMES = ("StringIds", "PROCESSES", "ProcessStreams", "ThreadNames", "DIAGNOSTIC_EVENT")
_PROPERTIES = (
    *("ANALYSIS_", "ENUM_", "META_DATA_", "EXPORT_META_DATA", "NVTX_PAYLOAD_", "TARGET_INFO_"),
    "sqlite_",
)


def left_out(file: SqliteFile) -> str:
    """Return the tables of events that are not read, with their rows: ``SCHED_EVENTS (1,428)``."""
    events = [
        table
        for table in file.tables()
        if not table.startswith((*READ, *_PROPERTIES)) and table not in _NAMES
    ]
    counts = sorted(((file.count(table), table) for table in events), reverse=True)
    return ", ".join(f"{table} ({rows:,})" for rows, table in counts if rows)
