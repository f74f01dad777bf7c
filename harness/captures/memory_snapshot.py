"""A snapshot of torch's caching allocator as typed records, from its pickle or the probe's JSON.

torch documents the structure in ``torch/cuda/_memory_viz.py`` and ``torch.cuda.memory._snapshot``.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from harness.captures import pickle_guard
from harness.captures.compressed import blocks
from harness.errors import CaptureError

_MOST_BYTES = 2 << 30  # of the file's content; 10⁶ events with stacks of 12 make 1.3 GB of JSON
_MOST_SUM = 1 << 62  # of all sizes, so that no total of them leaves 64 bits
_BLOCK = 512
"""kMinBlockSize of torch's c10/cuda/CUDACachingAllocator: sizes are rounded up to multiples."""

_PYTHON = re.compile(r"\.py$|^<(stdin|string|ipython-input)")
_TORCH = re.compile(r"(^|/)(site-packages|dist-packages|pytorch|ao)/(torch|torchao)/")
_NO_STACK = "unknown (no stack recorded)"
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError, MemoryError)

Bytes = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Microseconds = Annotated[int, msgspec.Meta(ge=0, lt=(1 << 63) // 1000)]


class Segment(msgspec.Struct):
    """Memory that the allocator holds from the driver, and how much of it is handed out."""

    total_size: Bytes
    allocated_size: Bytes
    device: Annotated[int, msgspec.Meta(ge=0)] = 0
    segment_pool_id: tuple[int, int] = (0, 0)
    segment_type: str | None = None  # large or small; the probe's CPU snapshots have none


class Event(msgspec.Struct):
    """One entry of the history; ``size`` is what was asked for, not rounded."""

    action: str
    size: Bytes
    addr: int | None = None
    time_us: Microseconds | None = None
    frames: Any = None  # innermost first


class Phase(msgspec.Struct):
    """A stretch of the program, from this time to the next phase's."""

    name: str
    time_us: Microseconds


@dataclass(frozen=True)
class Snapshot:
    """Segments and history of one device."""

    segments: list[Segment]
    events: list[Event]
    phases: list[Phase]

    def rounded(self, size: int) -> int:
        """Return the bytes that a block asked for with ``size`` counts as allocated.

        What the allocator leaves unsplit, or rounds to powers of two if so configured, counts more.
        """
        if any(segment.segment_type for segment in self.segments[:1]):
            return max(1, -(-size // _BLOCK)) * _BLOCK
        return size


class _Plain(msgspec.Struct):
    segments: list[Segment]
    device_traces: list[Any]
    phases: list[Phase] = []


# JSON has no shared parts: stacks stay bytes, so that each different one is decoded once.
class _JsonEvent(Event):
    frames: msgspec.Raw = msgspec.Raw(b"null")


class _Json(_Plain):
    device_traces: list[msgspec.Raw]


def load(path: Path) -> Snapshot:
    """Return the snapshot of the device that has most bytes reserved.

    ``path`` is a pickle of protocol 2 to 5 or JSON, plain, gzip or zstd. Raises CaptureError for
    what is no snapshot, is damaged, over 2 GiB, or holds sizes that are none.
    """
    data = _content(path)
    is_pickle = data[:1] == b"\x80"
    try:
        snapshot = (
            _typed(pickle_guard.load(data, path), msgspec.convert, _Plain, Event)
            if is_pickle
            else _typed(data, msgspec.json.decode, _Json, _JsonEvent)
        )
    except _UNREADABLE as error:
        raise CaptureError(f"not a memory snapshot: {error}", where=path) from error
    sizes = sum(segment.total_size + segment.allocated_size for segment in snapshot.segments)
    if sizes + sum(event.size for event in snapshot.events) >= _MOST_SUM:
        raise CaptureError(f"sizes of {_MOST_SUM} bytes and more in all", where=path)
    return snapshot


def _content(path: Path) -> bytearray:
    data = bytearray()
    for block in blocks(path, 1 << 20):
        data += block
        if len(data) > _MOST_BYTES:
            raise CaptureError(f"a memory snapshot of more than {_MOST_BYTES} bytes", where=path)
    return data


def _typed(source: Any, typed: Any, kind: type[_Plain], event: type[Event]) -> Snapshot:
    """Return ``source`` as records; ``typed(value, type=…)`` checks and converts."""
    found = typed(source, type=kind)
    reserved: dict[int, int] = {}
    for segment in found.segments:
        reserved[segment.device] = reserved.get(segment.device, 0) + segment.total_size
    device = max(reserved, key=lambda index: reserved[index], default=0)
    traces = found.device_traces[device : device + 1]
    events = typed(traces[0], type=list[event]) if traces else []  # type: ignore[valid-type]  # a type by variable
    segments = [segment for segment in found.segments if segment.device == device]
    return Snapshot(segments, events, sorted(found.phases, key=lambda phase: phase.time_us))


class Sites:
    """Names the line of code that asked for a block, each stack once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[bytes | int, str] = {}

    def of(self, event: Event) -> str:
        """Return ``dir/file.py:line function`` of the innermost Python frame outside torch.

        Without one the innermost frame of all; without a stack, words that say so. ``event`` has to
        outlive this object. Raises CaptureError for a stack that is no JSON.
        """
        frames = event.frames
        raw = isinstance(frames, msgspec.Raw)
        key = bytes(frames) if raw else id(frames)
        if key not in self._known:
            try:
                stack = msgspec.json.decode(frames) if raw else frames
            except _UNREADABLE as error:
                raise CaptureError(f"a damaged stack: {error}", where=self._path) from error
            self._known[key] = _site(stack)
        return self._known[key]


def _site(stack: object) -> str:
    if not isinstance(stack, list) or not stack:
        return _NO_STACK
    for frame in stack:
        file = _part(frame, "filename")
        if _PYTHON.search(file) and not _TORCH.search(file):
            break
    else:
        frame = stack[0]
    return " ".join(text.encode("utf-8", "replace").decode() for text in _named(frame))


def _named(frame: object) -> tuple[str, str]:
    file = "/".join(_part(frame, "filename").rsplit("/", 2)[-2:])
    return f"{file}:{_part(frame, 'line')}", _part(frame, "name")


def _part(frame: object, key: str) -> str:
    """Return a frame's field as text; a frame of another shape has no fields."""
    value = frame.get(key) if isinstance(frame, dict) else None
    return str(value)[:500] if isinstance(value, str | int) and value is not None else "?"
