"""Nsight Compute's reports: hardware counters by profiled launch.

NVIDIA's reader opens a truncated report without a word and shows fewer kernels, so the file's own
framing is walked first (as NVIDIA documents it in ProfilerReport.proto, which ships with Nsight
Compute), and the reader then has to find as many launches as the framing announces.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from harness.captures.kind import Argv, Kind
from harness.errors import CaptureError
from harness.evidence import Tables, frame

METRICS = (
    # How long, and how near to which limit.
    "gpu__time_duration.sum",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    # Bytes and where they were found.
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_bytes.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared*.sum",
    # Occupancy and what holds it down.
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__*",
    # What the schedulers and pipes did.
    "sm__pipe_tensor_*cycles_active.avg.pct_of_peak_sustained_*",
    "sm__inst_executed_pipe_*.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.avg.per_cycle_*",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__average_warps_issue_stalled_*_per_issue_active.ratio",
    # Clocks while the counters were read, and the device they belong to.
    "*__cycles_elapsed.avg.per_second",
    "device__attribute_multiprocessor_count",
)
"""The metrics that are kept, as patterns: names differ between architectures."""

_REPORT = "counters.ncu-rep"
_DEADLINE_S = 300
_MAGIC = b"NVR\0"


def read(path: Path) -> Tables:
    """Return counters: a row a launch and metric, under Nsight Compute's names and units.

    Raises CaptureError for a file that is damaged or cut, or holds no kernel.
    """
    announced = kernel_count(path)
    if announced == 0:
        raise CaptureError(
            "no kernels were profiled",
            where=path,
            remedy="check --profile-from-start, filters and that the range launches kernels",
        )
    launches = _launches(path)
    if len(launches) != announced:
        raise CaptureError(f"{len(launches)} of {announced} kernels are readable", where=path)
    rows = [
        (index, launch["name"], launch["grid"], launch["block"], *metric)
        for index, launch in enumerate(launches)
        for metric in launch["metrics"]
    ]
    names = ("launch", "name", "grid", "block", "metric", "unit", "value")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {"counters": frame("counters", dict(zip(names, map(list, columns), strict=True)))}


def kernel_count(path: Path) -> int:
    """Return how many launches the report's blocks announce; CaptureError if they do not fit."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise CaptureError("not a report of Nsight Compute", where=path)
        _message(path, file, size)
        count = 0
        while file.tell() < size:
            header = _fields(path, _message(path, file, size))
            count += header.get(2, 0)
            file.seek(header.get(5, 0), os.SEEK_CUR)
        if file.tell() != size:
            raise CaptureError(f"cut short: {size} bytes of {file.tell()} announced", where=path)
    return count


def _message(path: Path, file: IO[bytes], size: int) -> bytes:
    """Return the next length-prefixed message."""
    length = int.from_bytes(file.read(4), "little")
    if file.tell() + length > size:
        raise CaptureError("cut short, or not a report of Nsight Compute", where=path)
    return file.read(length)


def _fields(path: Path, message: bytes) -> dict[int, int]:
    """Return the integer fields of a protobuf message by number (BlockHeader: 2 NumResults, …)."""
    found: dict[int, int] = {}
    at = 0
    while at < len(message):
        key, at = _varint(path, message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            found[number], at = _varint(path, message, at)
        elif wire == 2:
            length, at = _varint(path, message, at)
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise CaptureError("a damaged block header", where=path)
    return found


def _varint(path: Path, message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise CaptureError("a damaged block header", where=path)


def _launches(path: Path) -> list[dict[str, Any]]:
    """Return what the child process reads; its crash, silence or nonsense is a CaptureError."""
    argv = [sys.executable, "-m", "harness.captures.ncu_child", str(path)]
    try:
        done = subprocess.run(
            argv,
            input=json.dumps(METRICS),
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CaptureError(f"not read within {_DEADLINE_S} s", where=path) from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise CaptureError(f"NVIDIA's reader failed: {reason[:200]}", where=path)
    try:
        return [json.loads(line) for line in done.stdout.splitlines()]
    except ValueError:
        raise CaptureError("NVIDIA's reader printed no JSON", where=path) from None


def _wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Read counters inside the workload's own range; the card's clocks stay as they are."""
    return [
        *("ncu", "--clock-control=none", "--profile-from-start=off", "--config-file=off"),
        *(*flags, "--force-overwrite", f"--export={out / _REPORT}", *argv),
    ]


def _counted(log: str) -> dict[str, int]:
    """Return how many kernels ncu says it profiled."""
    return {"kernels": len(re.findall(r"^==PROF== Profiling ", log, re.MULTILINE))}


KIND = Kind("ncu", (_REPORT,), _wrap, counted=_counted, artifact=_REPORT, read=read)
