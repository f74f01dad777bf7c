r"""Nsight Compute's reports: hardware counters by profiled launch.

NVIDIA's reader opens a cut report without a word and shows fewer kernels, and it can abort. So the
file's own framing is walked first, the reader runs in a child process (:mod:`.child`), and it
has to find as many results as the framing announces. A report that was cut exactly between two
blocks is whole by its framing: what the workload launched has to be counted as well.

The framing is NVIDIA's, from ``ProfilerReport.proto`` as it ships with Nsight Compute: the bytes
``NVR\0`` and a FileHeader, then blocks of a BlockHeader and a payload, each message after its size
as a little-endian uint32.
"""

import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from harness import process
from harness.errors import CaptureError, ToolError
from harness.evidence.tables import SCHEMAS, Tables, frame

METRICS = (
    # How long, and how near to which limit.
    "gpu__time_duration.sum",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_*",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    # Bytes, where they were found, and how much of each sector was asked for.
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum",
    "dram__bytes_write.sum.per_second",
    "lts__t_bytes.sum",
    "lts__t_sector_hit_rate.pct",
    "lts__t_sectors_op_*.sum",
    "l1tex__t_sector_hit_rate.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_*.ratio",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared*.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared*.sum",
    "smsp__sass_l1tex_data_*_mem_shared_op_*.sum",
    # From L2 to the multiprocessors, and what TMA multicast spares it.
    "lts__t_sectors_srcunit_tex_op_*.sum",
    "l1tex__m_xbar2l1tex_read_bytes*.sum",
    # The launch, its occupancy and what holds that down.
    "launch__grid_*",
    "launch__block_*",
    "launch__cluster_*",
    "launch__thread_count",
    "launch__registers_per_thread*",
    "launch__shared_mem_*",
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_*",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    # What the schedulers and pipes did.
    "sm__pipe_tensor_cycles_active.avg",
    "sm__pipe_tensor_*cycles_active.avg.pct_of_peak_sustained_*",
    "sm__inst_executed_pipe_*.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.avg.per_cycle_*",
    "sm__inst_executed_pipe_tensor*.sum",
    "smsp__inst_executed.sum",
    "smsp__inst_executed_op_*.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__average_warps_issue_stalled_*_per_issue_active.ratio",
    # Clocks while the counters were read, and the device they belong to.
    "sm__cycles_elapsed.max",
    "*__cycles_elapsed.avg.per_second",
    "device__attribute_compute_capability_*",
    "device__attribute_l2_cache_size",
    "device__attribute_max_warps_per_multiprocessor",
    "device__attribute_multiprocessor_count",
)
"""The metrics that are kept, as fnmatch patterns: names differ between architectures."""

_MAGIC = b"NVR\0"
_RESULT_COUNTS = (2, 7, 8, 9)
"""BlockHeader's NumResults, NumRangeResults, NumCmdlistResults and NumGraphResults."""
_PAYLOAD_SIZE = 5
_MOST_HEADER_BYTES = 256 << 20
_MOST_BLOCKS = 1_000_000
_DEADLINE_S = 600.0
_COUNTERS = tuple(SCHEMAS["counters"])
_INSTRUCTIONS = tuple(SCHEMAS["instructions"])
Row = tuple[object, ...]
"""A row of a table, in the order of its schema's columns."""


def read(path: Path) -> Tables:
    """Return counters: a row a profiled launch and metric, under Nsight Compute's names and units.

    Launches count from 0 in the report's order; grid and block are "x,y,z". What is absent or no
    number has no row. Raises CaptureError for a file that is damaged, cut or holds no kernel,
    ToolError without NVIDIA's reader.
    """
    announced = kernel_count(path)
    if announced == 0:
        raise CaptureError(
            "no kernels were profiled",
            where=path,
            remedy="check --profile-from-start, filters and that the range launches kernels",
        )
    if importlib.util.find_spec("ncu_report") is None:
        raise ToolError("not installed", where="ncu-report", remedy="pip install ncu-report")
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as folder:
        launches = _launches(path, _rows(path, Path(folder)))
    try:
        counters = _columns(_COUNTERS, _counters(launches))
        instructions = _columns(_INSTRUCTIONS, _instructions(launches))
    except (LookupError, TypeError, ValueError):
        raise CaptureError("NVIDIA's reader left no readable rows", where=path) from None
    if len(launches) != announced:
        raise CaptureError(f"{len(launches)} of {announced} kernels are readable", where=path)
    return {
        "counters": frame("counters", counters),
        "instructions": frame("instructions", instructions),
    }


def kernel_count(path: Path) -> int:
    """Return the number of results (kernels, or replayed ranges and graphs) that blocks announce.

    Raises CaptureError if the blocks are damaged or do not end where the file does.
    """
    if not path.is_file():  # a pipe would never answer
        raise CaptureError("no such file", where=path)
    try:
        with path.open("rb") as file:
            return _walk(path, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise CaptureError(error.strerror or str(error), where=path) from error


def _walk(path: Path, file: IO[bytes], size: int) -> int:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise CaptureError("not a report of Nsight Compute", where=path)
    _message(path, file, size)
    count = blocks = 0
    while file.tell() < size:
        header = _fields(path, _message(path, file, size))
        count += sum(header.get(number, 0) for number in _RESULT_COUNTS)
        end = file.tell() + header.get(_PAYLOAD_SIZE, 0)
        if end > size:
            raise CaptureError(f"cut short: {size} of at least {end} bytes", where=path)
        file.seek(end)
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise CaptureError(f"more than {_MOST_BLOCKS} blocks", where=path)
    return count


def _message(path: Path, file: IO[bytes], size: int) -> bytes:
    """Return the message that follows its size in bytes."""
    prefix = file.read(4)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 4 or file.tell() + length > size:
        raise CaptureError("cut short within a header", where=path)
    if length > _MOST_HEADER_BYTES:
        raise CaptureError(f"a header of {length} bytes", where=path)
    return file.read(length)


def _fields(path: Path, message: bytes) -> dict[int, int]:
    """Return the varint fields of a protobuf message by number.

    The encoding: https://protobuf.dev/programming-guides/encoding/
    """
    fields: dict[int, int] = {}
    at = 0
    while at < len(message):
        key, at = _varint(path, message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            fields[number], at = _varint(path, message, at)
        elif wire == 2:
            length, at = _varint(path, message, at)
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise CaptureError("a damaged block header", where=path)
    if at > len(message):
        raise CaptureError("a damaged block header", where=path)
    return fields


def _varint(path: Path, message: bytes, at: int) -> tuple[int, int]:
    """Return the varint at ``at`` (ten bytes at most) and where it ends."""
    value = 0
    for index, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise CaptureError("a damaged block header", where=path)


def _rows(path: Path, folder: Path) -> Path:
    """Let the child read the report into ``folder``; return the file of its rows."""
    rows = folder / "rows.jsonl"
    # A file, not a pipe: the native reader may print, and the rows have no bound but the disk's.
    outcome = process.run(
        [sys.executable, "-m", "harness.captures.ncu.child", str(path.resolve()), str(rows)],
        cwd=Path(__file__).parents[3],
        env=process.environment({}),
        log=folder / "log",
        deadline_s=_DEADLINE_S,
    )
    if outcome.status == "ok":
        return rows
    reason = outcome.detail or f"exit code {outcome.returncode}"
    if outcome.status == "timeout":
        reason = f"no end within {_DEADLINE_S:.0f} s"
    elif outcome.returncode is not None and outcome.returncode < 0:
        reason = f"{signal.strsignal(-outcome.returncode)} {outcome.detail}"
    raise CaptureError(f"NVIDIA's reader failed: {reason}", where=path)


def _launches(path: Path, rows: Path) -> list[dict[str, Any]]:
    """Return the record of each launch from the file that the child wrote."""
    try:
        with rows.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        raise CaptureError("NVIDIA's reader left no readable rows", where=path) from None


def _counters(launches: list[dict[str, Any]]) -> Iterator[Row]:
    for number, launch in enumerate(launches):
        for metric, unit, value in launch["metrics"]:
            shape = (launch["name"], launch["grid"], launch["block"])
            yield (number, *shape, metric, unit, float(value))


def _instructions(launches: list[dict[str, Any]]) -> Iterator[Row]:
    for number, launch in enumerate(launches):
        for index, instruction in enumerate(launch["instructions"]):
            sass, file, line, executed, samples, stall, stalled = instruction
            source = (file or None, line or None)
            counts = (executed, samples, stall or None, stalled)
            yield (number, launch["name"], index, sass, *source, *counts)


def _columns(names: tuple[str, ...], rows: Iterator[Row]) -> dict[str, list[object]]:
    """Return rows as columns by name."""
    columns: dict[str, list[object]] = {name: [] for name in names}
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell)
    return columns
