"""The memory capture: the allocator's history, written as JSON by the process that made it.

torch dumps snapshots as pickles, which nobody should load from elsewhere; plain data goes out here.
"""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

_MAX_EVENTS = 1_000_000  # past this the allocator forgets the oldest; the reader notices
_MAX_FRAMES = 12

_cpu_profile: Any = None


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


def finish(path: Path, device: str, phases: list[dict[str, Any]]) -> None:
    """Write the history with ``phases`` (name, time_us on the same clock) as gzipped JSON."""
    snapshot = _cuda_snapshot() if device == "cuda" else _cpu_snapshot()
    snapshot["phases"] = phases
    with gzip.open(path, "wt", compresslevel=6, encoding="utf-8") as file:
        json.dump(snapshot, file)


def _cuda_snapshot() -> dict[str, Any]:
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    snapshot = torch.cuda.memory._snapshot()
    segments = [
        {key: value for key, value in segment.items() if key not in ("blocks", "frames")}
        for segment in snapshot["segments"]
    ]
    traces = [
        [{**event, "frames": _python_frames(event.get("frames", []))} for event in device]
        for device in snapshot["device_traces"]
    ]
    totals = {name: stats[f"{name}_bytes.all.current"] for name in ("allocated", "reserved")}
    return {"segments": segments, "device_traces": traces, "totals": totals}


def _python_frames(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    named = [frame for frame in frames if frame.get("filename", "").endswith(".py")]
    return named[:_MAX_FRAMES]


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
