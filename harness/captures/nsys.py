"""SQLite exports of Nsight Systems: GPU operations, host calls and NVTX ranges.

Tables are absent where nothing was recorded, and columns come and go between versions, so what
there is is looked up first (https://docs.nvidia.com/nsight-systems/UserGuide, SQLite schema).
"""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.kind import Argv, Kind
from harness.captures.sqlite_file import SqliteFile, opened
from harness.errors import CaptureError
from harness.evidence import Tables, empty, frame

if TYPE_CHECKING:
    import polars as pl

_REPORT, _EXPORT = "trace.nsys-rep", "trace.sqlite"
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_NVTX = ("NVTX_EVENTS", "NVTX_EVENTS_V2", "NVTX_EVENTS_V3")
_TIMES = dict.fromkeys(("start", "end", "deviceId", "streamId", "correlationId"), "INTEGER")
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_OPTIONAL = {"registers": "registersPerThread", "graph_node": "graphNodeId"}
# Types of NVTX rows that have a beginning and an end: push/pop and start/end, also of threads.
_RANGE_TYPES = (59, 60, 70, 71)
# cudaMemcpyKind as CUPTI numbers it (cupti_activity.h, CUpti_ActivityMemcpyKind).
_COPY_KINDS = {
    1: "Host-to-Device",
    2: "Device-to-Host",
    3: "Host-to-Array",
    4: "Array-to-Host",
    5: "Array-to-Array",
    6: "Array-to-Device",
    7: "Device-to-Array",
    8: "Device-to-Device",
    9: "Host-to-Host",
    10: "Peer-to-Peer",
}


def read(path: Path) -> Tables:
    """Return gpu_ops, api_calls and ranges; CaptureError for what is no whole export of nsys."""
    import polars as pl

    with opened(path) as file:
        if "StringIds" not in file.tables or not _is_export(file):
            raise CaptureError("an SQLite file, but no export of Nsight Systems", where=path)
        names = _strings(file)
        parts = [_kernels(file, names), _copies(file), _memsets(file), _graphs(file)]
        return {
            "gpu_ops": pl.concat(
                [part for part in parts if part is not None] or [empty("gpu_ops")]
            ),
            "api_calls": _calls(file, names),
            "ranges": _ranges(file, names),
        }


def _is_export(file: SqliteFile) -> bool:
    known = ("META_DATA_EXPORT", "ENUM_NSYS_EVENT_TYPE", "TARGET_INFO_SYSTEM_ENV")
    return any(name in file.tables for name in known)


def _strings(file: SqliteFile) -> "pl.DataFrame":
    return file.fetch("StringIds", {"id": "INTEGER", "value": "TEXT"})


def _kernels(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame | None":
    if _KERNELS not in file.tables:
        return None
    there = file.tables[_KERNELS]
    name = "demangledName" if "demangledName" in there else "shortName"
    optional = {ours: theirs for ours, theirs in _OPTIONAL.items() if theirs in there}
    wanted = (name, *_SHAPE, "staticSharedMemory", "dynamicSharedMemory", *optional.values())
    rows = _timed(file, _KERNELS, _TIMES | dict.fromkeys(wanted, "INTEGER"))
    return _frame(
        rows,
        "kernel",
        name=_named(rows[name], names),
        grid=_joined(rows, _SHAPE[:3]),
        block=_joined(rows, _SHAPE[3:]),
        shared_bytes=rows["staticSharedMemory"] + rows["dynamicSharedMemory"],
        **{ours: rows[theirs] for ours, theirs in optional.items()},
    )


def _copies(file: SqliteFile) -> "pl.DataFrame | None":
    import polars as pl

    if _COPIES not in file.tables:
        return None
    rows = _timed(file, _COPIES, _TIMES | {"bytes": "INTEGER", "copyKind": "INTEGER"})
    kind = rows["copyKind"].replace_strict(
        _COPY_KINDS, default="unknown kind", return_dtype=pl.String
    )
    name = "[CUDA memcpy " + kind + "]"
    return _frame(rows, "copy", name=name, copy_kind=kind, bytes=rows["bytes"])


def _memsets(file: SqliteFile) -> "pl.DataFrame | None":
    import polars as pl

    if _MEMSETS not in file.tables:
        return None
    rows = _timed(file, _MEMSETS, _TIMES | {"bytes": "INTEGER"})
    name = pl.Series(["[CUDA memset]"]).new_from_index(0, rows.height)
    return _frame(rows, "memset", name=name, bytes=rows["bytes"])


def _graphs(file: SqliteFile) -> "pl.DataFrame | None":
    import polars as pl

    if _GRAPHS not in file.tables:
        return None
    rows = _timed(file, _GRAPHS, _TIMES | {"graphId": "INTEGER"})
    name = "[CUDA graph " + rows["graphId"].cast(pl.String) + "]"
    return _frame(rows, "graph", name=name)


def _calls(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    wanted = dict.fromkeys(("start", "end", "globalTid", "correlationId", "nameId"), "INTEGER")
    parts = [_timed(file, table, wanted) for table in _CALLS if table in file.tables]
    if not parts:
        return empty("api_calls")
    rows = pl.concat(parts)
    return frame(
        "api_calls",
        {
            "name": _named(rows["nameId"], names),
            "start_ns": rows["start"],
            "duration_ns": rows["end"] - rows["start"],
            "thread": rows["globalTid"],
            "correlation": rows["correlationId"],
        },
    )


def _ranges(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    table = next((name for name in _NVTX if name in file.tables), None)
    if table is None:
        return empty("ranges")
    columns = file.tables[table]
    wanted = dict.fromkeys(("start", "end", "eventType", "globalTid"), "INTEGER")
    texts = {"text": "TEXT"} if "text" in columns else {}
    ids = {"textId": "INTEGER"} if "textId" in columns else {}
    rows = file.fetch(table, wanted | texts | ids)
    rows = rows.filter(pl.col("eventType").is_in(_RANGE_TYPES))
    label = (
        rows["text"] if texts else pl.Series([None], dtype=pl.String).new_from_index(0, len(rows))
    )
    if ids:
        label = pl.select(
            pl.coalesce(label, _named(rows["textId"], names).cast(pl.String))
        ).to_series()
    return frame(
        "ranges",
        {
            "name": label,
            "start_ns": rows["start"],
            "duration_ns": rows["end"] - rows["start"],
            "thread": rows["globalTid"],
        },
    )


def _timed(file: SqliteFile, table: str, columns: dict[str, str]) -> "pl.DataFrame":
    """Return rows that really have a time; CaptureError where one ends before it starts."""
    import polars as pl

    rows = file.fetch(table, columns)
    if rows.filter(pl.col("end") < pl.col("start")).height:
        raise CaptureError(
            f"table {table} has an operation that ends before it starts", where=file.path
        )
    # CUPTI writes start = end = 0 for what it did not collect.
    return rows.filter((pl.col("start") != 0) | (pl.col("end") != 0))


def _named(ids: "pl.Series", names: "pl.DataFrame") -> "pl.Series":
    """Return names for string ids; one that leads nowhere is shown as such."""
    import polars as pl

    known = ids.unique().to_frame("id").join(names, on="id", how="left", nulls_equal=False)
    missing = "[string " + pl.col("id").cast(pl.String) + " is missing]"
    texts = known.with_columns(pl.col("value").fill_null(missing))
    return ids.replace_strict(
        texts["id"].drop_nulls(),
        texts.filter(pl.col("id").is_not_null())["value"].cast(pl.Categorical),
        default=None,
        return_dtype=pl.Categorical,
    )


def _joined(rows: "pl.DataFrame", columns: tuple[str, ...]) -> "pl.Series":
    """Return "x,y,z", made once for each distinct triple."""
    import polars as pl

    text = pl.concat_str([pl.col(name) for name in columns], separator=",")
    shapes = rows.select(columns).unique().with_columns(text.cast(pl.Categorical).alias("shape"))
    return rows.select(columns).join(shapes, on=columns, how="left", maintain_order="left")["shape"]


def _frame(rows: "pl.DataFrame", kind: str, **columns: "pl.Series") -> "pl.DataFrame":
    import polars as pl

    common = {
        "kind": pl.Series([kind], dtype=pl.Categorical).new_from_index(0, rows.height),
        "start_ns": rows["start"],
        "duration_ns": rows["end"] - rows["start"],
        "device": rows["deviceId"],
        "stream": rows["streamId"],
        "correlation": rows["correlationId"],
    }
    return frame("gpu_ops", common | columns)


def _wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Record only the workload's own profiler range; sampling off, as it needs privileges."""
    return [
        *("nsys", "profile", "--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none"),
        *("--cuda-graph-trace=node", "--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
        *(*flags, "--force-overwrite=true", f"--output={out / _REPORT}", *argv),
    ]


def _export(out: Path) -> list[Argv]:
    flags = ("--type=sqlite", "--force-overwrite=true", f"--output={out / _EXPORT}")
    return [["nsys", "export", *flags, str(out / _REPORT)]]


KIND = Kind("nsys", (_REPORT, _EXPORT), _wrap, _export, artifact=_EXPORT, read=read)
