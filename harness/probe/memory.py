"""The memory capture: the allocator's history, written as JSON by the process that made it.

torch dumps snapshots as pickles, which nobody should load from elsewhere; plain data goes out here.
"""

import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from harness.probe.stacks import Stacks

SNAPSHOT = "memory.json.gz"
_MAX_EVENTS = 1_000_000  # past this the allocator forgets the oldest; the reader notices
_BLOCK = ("state", "address", "size", "requested_size")

_cpu_profile: Any = None
_marks: list[dict[str, Any]] = []


def start(device: str) -> None:
    """Begin to record every allocation; before the weights are loaded."""
    global _cpu_profile
    if device == "cuda":
        torch.cuda.memory._record_memory_history(
            max_entries=_MAX_EVENTS, context="all", stacks="python"
        )
    else:
        _cpu_profile = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        )
        _cpu_profile.start()


def mark(phase: str, device: str) -> None:
    """Note the bytes that driver and allocator hold as ``phase`` ends; nothing on a CPU."""
    if device != "cuda":
        return
    free, total = torch.cuda.mem_get_info()
    # Whole segments, as their pools are known only while they stand.
    segments = [
        {key: value for key, value in segment.items() if key not in ("blocks", "frames")}
        for segment in torch.cuda.memory_snapshot(include_traces=False)
        if segment["device"] == torch.cuda.current_device()
    ]
    _marks.append(
        {
            "phase": phase,
            "time_us": time.time_ns() // 1000,
            "used_bytes": total - free,
            "reserved_bytes": torch.cuda.memory_reserved(),
            "allocated_bytes": torch.cuda.memory_allocated(),
            "segments": segments,
        }
    )


def finish(path: Path, device: str, phases: list[dict[str, Any]]) -> None:
    """Write the history with ``phases`` (name, time_us on the same clock) as gzipped JSON."""
    snapshot = _cuda_snapshot() if device == "cuda" else _cpu_snapshot()
    snapshot |= {"phases": phases, "marks": _marks}
    with gzip.open(path, "wt", compresslevel=6, encoding="utf-8") as file:
        json.dump(snapshot, file)


def _cuda_snapshot() -> dict[str, Any]:
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()
    stacks = Stacks()
    segments = [
        {key: value for key, value in segment.items() if key != "frames"}
        | {"blocks": [stacks.shared(block, _BLOCK) for block in segment["blocks"]]}
        for segment in snapshot["segments"]
    ]
    traces = [
        [stacks.shared(event, event) for event in device] for device in snapshot["device_traces"]
    ]
    totals = {name: stats[f"{name}_bytes.all.current"] for name in ("allocated", "reserved")}
    return {
        "segments": segments,
        "device_traces": traces,
        "totals": totals,
        "stacks": stacks.all,
    }


def _cpu_snapshot() -> dict[str, Any]:
    """Give torch's CPU allocations the shape of a device snapshot: one pool, no slack."""
    _cpu_profile.stop()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        _cpu_profile.export_chrome_trace(str(path))
        trace = json.loads(path.read_text(encoding="utf-8"))
    base_us = int(trace.get("baseTimeNanoseconds", 0)) / 1000
    events = sorted(
        (event for event in trace["traceEvents"] if event.get("name") == "[memory]"),
        key=lambda event: float(event["ts"]),
    )
    history = [
        {
            "action": "alloc" if event["args"]["Bytes"] > 0 else "free_completed",
            "addr": event["args"]["Addr"],
            "size": abs(event["args"]["Bytes"]),
            "time_us": int(base_us + float(event["ts"])),
            "frames": [],
        }
        for event in events
    ]
    live = int(events[-1]["args"]["Total Allocated"]) if events else 0
    segment = {
        "device": 0,
        "total_size": live,
        "allocated_size": live,
        "segment_pool_id": [0, 0],
    }
    return {"segments": [segment], "device_traces": [history], "totals": {"allocated": live}}
