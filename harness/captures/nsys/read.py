"""SQLite exports of Nsight Systems: GPU operations, host calls, their waits and NVTX ranges.

Tables are absent where nothing was recorded, and columns come and go between versions, so what
there is is looked up first (https://docs.nvidia.com/nsight-systems/UserGuide, SQLite schema).
"""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_combined import fetch_combined
from harness.captures.formats.sqlite_file import SqliteFile, opened
from harness.captures.nsys.devices import devices
from harness.captures.nsys.faults import faults
from harness.captures.nsys.graph_nodes import graph_nodes
from harness.captures.nsys.host import CALLS, NVTX, WAITS, autograd_threads, calls, ranges, waits
from harness.captures.nsys.names import COPY_KINDS, DOMAIN_TYPE, MEMORY_KINDS, named, shape
from harness.captures.nsys.rows import correlation, process_id, real, timed
from harness.evidence import section as sections
from harness.evidence.capture import Part
from harness.evidence.tables import LARGE, Tables, empty, frame
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPY_LABELS = "ENUM_CUDA_MEMCPY_OPER"
_MARKS = ("META_DATA_EXPORT", "ENUM_NSYS_EVENT_TYPE", "TARGET_INFO_SYSTEM_ENV", _KERNELS, *CALLS)
"""Tables of which an export has at least one; those of 2020 have neither of the first two."""

_EVENTS = (_KERNELS, _COPIES, _MEMSETS, _GRAPHS, *CALLS, WAITS, NVTX)
"""Tables whose rows are events of the timeline."""

_ROCPD = "rocpd_"
_ONE = "typeof(start) = 'integer'"
"""An event whose start is no integer has no place in time."""
_START = {"start": "INTEGER"}
_TIMES = ("start", "end")
_PLACE = ("deviceId", "streamId")
_CORRELATION, _PROCESS, _NODE = "correlationId", "globalPid", "graphNodeId"
_MEMORY = ("srcKind", "dstKind")
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_SHARED = ("staticSharedMemory", "dynamicSharedMemory")
_REGISTERS = "registersPerThread"


def read(path: Path, *, joins: bool = True, part: Part | None = None) -> Tables:
    """Return gpu_ops, devices, api_calls, waits, ranges, graph_nodes and autograd_threads.

    Beside them stand ``conditions`` where something went wrong: see :mod:`.faults`.

    Raises CaptureError for what is no whole export of nsys.

    A table that nsys left out, as it does where nothing was recorded, gives no rows. A name whose
    id leads nowhere is replaced by one in brackets that says so. ``joins=False`` leaves out
    the links from host calls to the operations that they launched (api_calls, correlation,
    graph_node), which are half the file, waits, and the kernels' streams and shared memory; but
    not api_calls and waits where there is no GPU work. Of a ``part`` only its events are read.
    """
    only = _within(part) if part else {}
    with opened(path, only) as file:
        if any(table.startswith(_ROCPD) for table in file.tables()):
            raise CaptureError("a database of rocprofv3 (rocpd) is not read", where=path)
        if not file.columns("StringIds") or not any(map(file.columns, _MARKS)):
            raise CaptureError("an SQLite file, but no export of Nsight Systems", where=path)
        tables = _Export(file, joins=joins).tables()
        told = faults(file)
    return tables | told


def read_brief(path: Path) -> Tables:
    """Return the tables of ``read``; of a LARGE one without the links from calls to operations."""
    with opened(path) as file:
        is_large = file.columns(_KERNELS) and file.count(_KERNELS, LARGE + 1) > LARGE
    return read(path, joins=not is_large)


def section(path: Path) -> Part | None:
    """Return the middle of a long timeline, None of one that is read whole.

    Of each event its start alone is held.
    """
    with opened(path, dict.fromkeys(_EVENTS, _ONE)) as file:
        present = [table for table in _EVENTS if "start" in file.columns(table)]
        if sum(file.count(table, sections.MOST + 1) for table in present) <= sections.MOST:
            return None
        return sections.among(file.fetch(table, _START)["start"] for table in present)


class _Export:
    """An open export; its methods make the parts of the evidence's tables."""

    def __init__(self, file: SqliteFile, *, joins: bool) -> None:
        self._file = file
        self._joins = joins
        self._names = file.fetch("StringIds", {"id": "INTEGER", "value": "TEXT"})
        columns_by_table = [file.columns(table) for table in (_KERNELS, _COPIES, _MEMSETS, _GRAPHS)]
        # Correlation ids count from one in each process.
        self._by_process = all(_PROCESS in columns for columns in columns_by_table if columns)
        self._devices = devices(file)
        self._linked = self._by_process or self._devices.numbers is None

    def tables(self) -> Tables:
        import polars as pl

        work = [self._kernels(), self._copies(), self._memsets(), self._graphs()]
        gpu_ops = pl.concat([empty("gpu_ops"), *work])
        named = ranges(self._file, self._names)
        tables = {
            "gpu_ops": gpu_ops,
            "devices": self._devices.table if self._linked else empty("devices"),
            "ranges": named,
            "autograd_threads": autograd_threads(self._file, self._names, named),
        }
        if self._joins or gpu_ops.is_empty():
            api_calls = calls(self._file, self._names, by_process=self._by_process)
            tables["api_calls"] = api_calls
            tables["waits"] = waits(self._file, self._names)
            tables["graph_nodes"] = graph_nodes(self._file)
        return tables

    def _kernels(self) -> "pl.DataFrame":
        present = self._file.columns(_KERNELS)
        if not present:
            return empty("gpu_ops")
        name = "demangledName" if "demangledName" in present else "shortName"
        shared = _SHARED if self._joins and present.issuperset(_SHARED) else ()
        optional = (*([_REGISTERS] if _REGISTERS in present else []), *shared)
        place = _PLACE if self._joins else _PLACE[:1]
        rows, launches = fetch_combined(
            self._file,
            _KERNELS,
            dict.fromkeys(self._numbers(present), "INTEGER"),
            combined=(*place, name, *_SHAPE, *optional),
        )
        rows = real(rows, _KERNELS, self._file)
        columns = {
            "name": named(launches[name], self._names),
            "grid": shape(launches, _SHAPE[:3], self._file.path),
            "block": shape(launches, _SHAPE[3:], self._file.path),
        }
        if _REGISTERS in present:
            columns["registers"] = launches[_REGISTERS]
        if shared:
            columns["shared_bytes"] = launches[_SHARED[0]] + launches[_SHARED[1]]
        of_row = rows["combination"]
        rows = rows.with_columns(launches[column].gather(of_row) for column in place)
        columns = {key: values.gather(of_row) for key, values in columns.items()}
        return self._gpu_ops(rows, "kernel", columns)

    def _copies(self) -> "pl.DataFrame":
        import polars as pl

        rows = self._gpu_rows(_COPIES, "bytes", "copyKind", optional=_MEMORY)
        if self._file.columns(_COPY_LABELS):
            labels = self._file.fetch(_COPY_LABELS, {"id": "INTEGER", "label": "TEXT"})
        else:
            labels = pl.DataFrame({"id": list(COPY_KINDS), "label": list(COPY_KINDS.values())})
        labels = labels.rename({"label": "value"})
        kind = named(rows["copyKind"], labels, "copy kind").cast(pl.String)
        name = "[CUDA memcpy " + kind + "]"
        if all(side in rows.columns for side in _MEMORY):
            memory = pl.DataFrame({"id": list(MEMORY_KINDS), "value": list(MEMORY_KINDS.values())})
            source, target = (
                named(rows[side], memory, "memory kind").cast(pl.String) for side in _MEMORY
            )
            name = name + " (" + source + " -> " + target + ")"
        columns = {"name": name, "copy_kind": kind, "bytes": rows["bytes"]}
        return self._gpu_ops(rows, "copy", columns)

    def _memsets(self) -> "pl.DataFrame":
        import polars as pl

        rows = self._gpu_rows(_MEMSETS, "bytes")
        name = pl.Series(["[CUDA memset]"]).new_from_index(0, rows.height)
        return self._gpu_ops(rows, "memset", {"name": name, "bytes": rows["bytes"]})

    def _graphs(self) -> "pl.DataFrame":
        import polars as pl

        rows = self._gpu_rows(_GRAPHS, "graphId")
        name = "[CUDA graph " + rows["graphId"].cast(pl.String) + "]"
        return self._gpu_ops(rows, "graph", {"name": name})

    def _gpu_rows(
        self, table: str, *columns: str, optional: tuple[str, ...] = ()
    ) -> "pl.DataFrame":
        """Return rows of a table of GPU operations, with what of the optional columns it has."""
        present = self._file.columns(table)
        extras = [name for name in optional if name in present]
        wanted = (*self._numbers(present), *_PLACE, *columns, *extras)
        return timed(self._file, table, wanted)

    def _numbers(self, present: frozenset[str]) -> tuple[str, ...]:
        """Return the columns of a GPU operation that tell its time and what it is linked to."""
        links = (_CORRELATION, *([_NODE] if _NODE in present else [])) if self._joins else ()
        needs_process = self._joins or self._devices.numbers is not None
        process = (_PROCESS,) if self._by_process and needs_process else ()
        return (*_TIMES, *links, *process)

    def _gpu_ops(
        self, rows: "pl.DataFrame", kind: str, columns: dict[str, "pl.Series"]
    ) -> "pl.DataFrame":
        import polars as pl

        common = {
            "kind": pl.Series([kind], dtype=pl.Categorical).new_from_index(0, rows.height),
            "start_ns": rows["start"],
            "duration_ns": rows["end"] - rows["start"],
            "device": self._device(rows),
        }
        if "streamId" in rows.columns:
            common["stream"] = rows["streamId"]
        if self._joins:
            common["correlation"] = correlation(rows, _PROCESS if self._by_process else None)
        if _NODE in rows.columns:
            common["graph_node"] = rows[_NODE]
        return frame("gpu_ops", common | columns)

    def _device(self, rows: "pl.DataFrame") -> "pl.Series":
        """Return the device of each operation by the numbers of the table ``devices``."""
        numbers = self._devices.numbers
        if numbers is None or not self._linked:
            return rows["deviceId"]
        keys = rows.select("deviceId", process=process_id(_PROCESS))
        return keys.join(numbers, on=["process", "deviceId"], how="left", maintain_order="left")[
            "device"
        ]


def _within(part: Part) -> dict[str, str]:
    """Return by table the conditions that rows of a part meet; it holds all names of domains."""
    begins = f"start >= {part.start_ns} AND start < {part.end_ns}"
    whole = f'{begins} AND "end" <= {part.end_ns} OR eventType = {DOMAIN_TYPE}'
    return dict.fromkeys(_EVENTS, begins) | {NVTX: whole}
