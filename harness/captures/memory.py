"""torch's memory snapshots: pools at the end, the history before it, and who asked for what.

Reads torch's own pickle (through a guard that admits plain data only) and the JSON of the same
structure that the probe writes, with the phases that it marked.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.captures.kind import Kind
from harness.errors import CaptureError
from harness.evidence import Tables, frame

_DEFAULT_POOL = (0, 0)
_MOST_BYTES = 1 << 63
# Allocated memory drops when the allocator has the block back, not when it was asked for.
_ALLOCATED = {"alloc": 1, "free_completed": -1}
_RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_NO_STACK = "unknown (no stack recorded)"

Snapshot = dict[str, Any]


def read(path: Path) -> Tables:
    """Return memory_pools, memory_timeline and memory_sites of the device that reserved most.

    The history may have lost its start, so allocated and reserved bytes are worked back from the
    totals at the end. An event holds the size asked for, which the allocator rounds up to a
    multiple of 512 bytes: between its ends the timeline can lie below by that much a block.
    Raises CaptureError for what is no snapshot.
    """
    snapshot = _load(path)
    segments = _list_of_dicts(path, snapshot, "segments")
    traces = snapshot.get("device_traces")
    if not isinstance(traces, list) or not all(isinstance(trace, list) for trace in traces):
        raise CaptureError("a memory snapshot without device_traces", where=path)
    for segment in segments:
        _sized(path, segment, "total_size")
        _sized(path, segment, "allocated_size")
    device = _busiest(segments)
    segments = [segment for segment in segments if segment.get("device", 0) == device]
    history = traces[device] if device < len(traces) else []
    for event in history:
        if not isinstance(event, dict) or not isinstance(event.get("action"), str):
            raise CaptureError("an event of the history has no action", where=path)
        _sized(path, event, "size")
    phases = _list_of_dicts(path, snapshot, "phases") if "phases" in snapshot else []
    for phase in phases:
        _sized(path, phase, "time_us")
    named = list(_phase_of(history, phases))
    timeline = _timeline(segments, history)
    return {
        "memory_pools": _pools(segments),
        "memory_timeline": frame(
            "memory_timeline",
            {
                "index": list(range(len(history))),
                "time_ns": [_time_ns(event) for event in history],
                "phase": named,
                "allocated_bytes": timeline[0],
                "reserved_bytes": timeline[1],
            },
        ),
        "memory_sites": _sites(history, named, timeline[0]),
    }


def _load(path: Path) -> Snapshot:
    try:
        with path.open("rb") as file:
            head = file.read(2)
        if head[:1] == b"\x80":
            from harness.captures import pickle_guard

            value = pickle_guard.load(path)
        else:
            opener = gzip.open if head == b"\x1f\x8b" else open
            with opener(path, "rb") as file:
                value = json.loads(file.read())
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise CaptureError(f"not readable as a memory snapshot: {error}", where=path) from error
    if not isinstance(value, dict):
        raise CaptureError("a memory snapshot is a mapping, this is not", where=path)
    return value


def _list_of_dicts(path: Path, snapshot: Snapshot, key: str) -> list[dict[str, Any]]:
    value = snapshot.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise CaptureError(f"a memory snapshot without a list of {key}", where=path)
    return value


def _sized(path: Path, item: dict[str, Any], key: str) -> None:
    size = item.get(key)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _MOST_BYTES:
        raise CaptureError(f"{key} is {str(size)[:40]}, not a whole number", where=path)


def _busiest(segments: list[dict[str, Any]]) -> int:
    reserved: dict[int, int] = {}
    for segment in segments:
        device = int(segment.get("device", 0))
        reserved[device] = reserved.get(device, 0) + segment["total_size"]
    return max(reserved, key=lambda device: reserved[device], default=0)


def _pools(segments: list[dict[str, Any]]) -> Any:
    pools: dict[str, list[int]] = {}
    for segment in segments:
        key = tuple(segment.get("segment_pool_id", _DEFAULT_POOL))
        name = "default" if key == _DEFAULT_POOL else f"graph pool {key}"
        sums = pools.setdefault(name, [0, 0, 0])
        sums[0] += 1
        sums[1] += segment["total_size"]
        sums[2] += segment["allocated_size"]
    columns = zip(*pools.values(), strict=True) if pools else ([], [], [])
    names = ("segments", "reserved_bytes", "allocated_bytes")
    return frame(
        "memory_pools",
        {"pool": list(pools)} | {name: list(c) for name, c in zip(names, columns, strict=True)},
    )


def _timeline(
    segments: list[dict[str, Any]], history: list[dict[str, Any]]
) -> tuple[list[int], list[int]]:
    """Return allocated and reserved bytes after each event, worked back from the end."""
    final = [sum(segment[key] for segment in segments) for key in ("allocated_size", "total_size")]
    back: tuple[list[int], list[int]] = ([], [])
    for event in reversed(history):
        for values, signs, index in ((back[0], _ALLOCATED, 0), (back[1], _RESERVED, 1)):
            values.append(final[index])
            final[index] -= signs.get(event["action"], 0) * event["size"]
    return back[0][::-1], back[1][::-1]


def _phase_of(history: list[dict[str, Any]], phases: list[dict[str, Any]]) -> Iterator[str | None]:
    """Yield the phase that was the latest to begin when each event happened."""
    begun = sorted((float(phase["time_us"]), str(phase["name"])) for phase in phases)
    at, current = 0, None
    for event in history:
        while at < len(begun) and begun[at][0] <= float(event.get("time_us", -1)):
            current = begun[at][1]
            at += 1
        yield current


def _time_ns(event: dict[str, Any]) -> int | None:
    time_us = event.get("time_us")
    return None if time_us is None else int(time_us) * 1000


def _sites(history: list[dict[str, Any]], phases: list[str | None], allocated: list[int]) -> Any:
    """Return bytes asked for by phase and site, and those of them live at the phase's peak."""
    peaks: dict[str, int] = {}
    for index, phase in enumerate(phases):
        name = phase or ""
        if name not in peaks or allocated[index] > allocated[peaks[name]]:
            peaks[name] = index
    rows: dict[tuple[str, str], list[int]] = {}
    live: dict[int, tuple[str, str, int]] = {}
    at_peak = {index: phase for phase, index in peaks.items()}
    for index, event in enumerate(history):
        name = phases[index] or ""
        if event["action"] == "alloc":
            site = _site(event.get("frames") or [])
            row = rows.setdefault((name, site), [0, 0, 0])
            row[0] += 1
            row[1] += event["size"]
            live[event.get("addr", -index)] = (name, site, event["size"])
        elif event["action"] == "free_completed":
            live.pop(event.get("addr", -1), None)
        if index in at_peak:
            for _, site, size in live.values():
                rows.setdefault((at_peak[index], site), [0, 0, 0])[2] += size
    columns = zip(*rows.values(), strict=True) if rows else ([], [], [])
    counted = dict(zip(("count", "bytes", "peak_bytes"), map(list, columns), strict=True))
    names = {"phase": [name for name, _ in rows], "site": [site for _, site in rows]}
    return frame("memory_sites", names | counted)


def _site(frames: list[dict[str, Any]]) -> str:
    """Return the innermost python frame outside torch, else the innermost one."""
    own = [frame for frame in frames if "/torch/" not in str(frame.get("filename", ""))]
    for found in own or frames:
        path = "/".join(str(found.get("filename", "?")).split("/")[-2:])
        return f"{path}:{found.get('line', '?')} {found.get('name', '?')}"
    return _NO_STACK


KIND = Kind(leaves=("memory.json.gz",), artifact="memory.json.gz", read=read)
