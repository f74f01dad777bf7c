"""A snapshot of torch's caching allocator as typed records, from its pickle or the probe's JSON.

torch documents the structure in ``torch/cuda/_memory_viz.py`` and ``torch.cuda.memory._snapshot``.
The probe's JSON has, beside it, ``stacks`` that events and blocks name by index, ``phases`` and
``marks``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Annotated, Any

import msgspec

from harness.captures.formats import pickle_guard
from harness.captures.formats.compressed import blocks
from harness.captures.memory.unsplit import handed_out
from harness.evidence.tables import DEFAULT_POOL, GRAPH_POOL
from harness.ground.errors import CaptureError

_MOST_BYTES = 2 << 30  # of the file's content; 10⁶ events with stacks of 12 make 1.3 GB of JSON
_MOST_DEVICES = 1024
_MOST_SUM = 1 << 62  # of all sizes, so that no total of them leaves 64 bits
# Allocated memory drops when the allocator has the block back, not when that was asked for.
_ALLOCATED = {"alloc": 1, "free_completed": -1}
_BLOCK = 512
"""kMinBlockSize of torch's c10/cuda/CUDACachingAllocator: sizes are rounded up to multiples."""

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

Bytes = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Microseconds = Annotated[int, msgspec.Meta(ge=0, lt=(1 << 63) // 1000)]
PoolId = tuple[int, int]


def pool_name(pool: PoolId) -> str:
    """Return a pool's name in the tables."""
    return DEFAULT_POOL if pool == (0, 0) else f"{GRAPH_POOL} {pool}"


class Block(msgspec.Struct):
    """A piece of a segment; ``state`` says whether a tensor holds it."""

    size: Bytes
    state: str
    requested_size: Bytes | None = None  # what was asked for, not rounded
    address: int | None = None
    frames: Any = None  # innermost first
    stack: int | None = None  # in place of frames: where they stand among the file's stacks

    @property
    def live(self) -> bool:
        """Whether a tensor holds it; one that waits for another stream is held by none."""
        return self.state == "active_allocated"

    @property
    def held(self) -> bool:
        """Whether it is not free: a tensor holds it, or it waits for another stream."""
        return self.state != "inactive"


class Segment(msgspec.Struct):
    """Memory that the allocator holds from the driver, and how much of it is handed out.

    ``active_size`` counts also what waits to be free, ``requested_size`` what was asked for of it.
    """

    total_size: Bytes
    allocated_size: Bytes
    device: Annotated[int, msgspec.Meta(ge=0, lt=_MOST_DEVICES)] = 0
    segment_pool_id: PoolId = (0, 0)
    segment_type: str | None = None  # large or small; the probe's CPU snapshots have none
    address: int | None = None
    active_size: Bytes | None = None
    requested_size: Bytes | None = None
    is_expandable: bool = False
    blocks: Any = None  # list[Block] once loaded; None where not recorded

    @property
    def pool(self) -> str:
        """The name of its pool."""
        return pool_name(self.segment_pool_id)

    @property
    def held(self) -> int:
        """Bytes that are not free: allocated, and waiting to be free where that is recorded."""
        return self.allocated_size if self.active_size is None else self.active_size


class AllocatorEvent(msgspec.Struct):
    """One entry of the history; ``size`` is what was asked for, not rounded."""

    action: str
    size: Bytes
    addr: int | None = None
    time_us: Microseconds | None = None
    device_free: Bytes | None = None  # of the whole GPU, where no memory was left
    frames: Any = None  # innermost first
    stack: int | None = None  # in place of frames: where they stand among the file's stacks


class Phase(msgspec.Struct):
    """A stretch of the program, from this time to the next phase's."""

    name: str
    time_us: Microseconds


class Mark(msgspec.Struct):
    """The driver's and the allocator's counts at the end of a phase; bytes.

    ``segments`` are those that stood then, without their blocks.
    """

    phase: str
    time_us: Microseconds
    used_bytes: Bytes  # by every process on the GPU
    reserved_bytes: Bytes
    allocated_bytes: Bytes
    segments: Any = None  # list[Segment] once loaded


@dataclass(frozen=True)
class Snapshot:
    """Segments and history of one device."""

    segments: list[Segment]
    events: list[AllocatorEvent]
    phases: list[Phase]
    marks: list[Mark]
    devices: dict[str, list[int]]  # columns of memory_devices, of all devices

    def rounded(self, size: int) -> int:
        """Return the bytes that a block asked for with ``size`` counts as allocated.

        What the allocator leaves unsplit, or rounds to powers of two if so configured, counts more.
        """
        return max(1, -(-size // _BLOCK)) * _BLOCK if self._rounds else size

    @cached_property
    def standing(self) -> dict[int, tuple[str, Block]]:
        """The blocks that are not free at the snapshot, with their pool, by address.

        Blocks of old files have no address; those of a segment follow each other.
        """
        found: dict[int, tuple[str, Block]] = {}
        for segment in self.segments:
            blocks = segment.blocks or []
            whole = sum(block.size for block in blocks) == segment.total_size
            starts = accumulate((block.size for block in blocks), initial=segment.address or 0)
            for block, start in zip(blocks, starts, strict=False):
                address = block.address if block.address is not None or not whole else start
                if block.held and address is not None:
                    found[address] = (segment.pool, block)
        return found

    @cached_property
    def allocated(self) -> list[int]:
        """The bytes that each event added to what is allocated.

        Events hold what was asked for. A block counts with what the allocator did not split off.
        """
        changes = [
            _ALLOCATED[event.action] * self.rounded(event.size) if event.action in _ALLOCATED else 0
            for event in self.events
        ]
        if self._rounds:
            told = ((event.action, event.addr, event.size) for event in self.events)
            changes = handed_out(told, changes)
        unseen = dict(self.standing)
        for at in range(len(changes) - 1, -1, -1):
            if changes[at] and (found := unseen.pop(self.events[at].addr or 0, None)):
                changes[at] = max(changes[at], found[1].size) if changes[at] > 0 else changes[at]
        return changes

    @cached_property
    def _rounds(self) -> bool:
        """Whether a GPU's allocator made it: only its segments have a type."""
        kept = (self.segments, *(mark.segments for mark in self.marks))
        return any(segments[0].segment_type for segments in kept if segments)


class _SnapshotFile(msgspec.Struct):
    segments: list[Segment]
    device_traces: list[Any]
    phases: list[Phase] = []
    marks: list[Mark] = []
    stacks: Any = None  # a list


# JSON has no shared parts: stacks stay bytes, so that each different one is decoded once.
class _JsonBlock(Block):
    frames: msgspec.Raw = msgspec.Raw(b"null")


class _JsonEvent(AllocatorEvent):
    frames: msgspec.Raw = msgspec.Raw(b"null")


class _JsonSegment(Segment):
    blocks: msgspec.Raw = msgspec.Raw(b"null")


class _JsonMark(Mark):
    segments: msgspec.Raw = msgspec.Raw(b"null")


class _Json(_SnapshotFile):
    segments: list[_JsonSegment]  # type: ignore[assignment]  # narrower, and only read
    device_traces: list[msgspec.Raw]
    marks: list[_JsonMark] = []  # type: ignore[assignment]  # the same
    stacks: msgspec.Raw = msgspec.Raw(b"null")


def load(path: Path) -> Snapshot:
    """Return the snapshot of the device that has most bytes reserved.

    ``path`` is a pickle of protocol 2 to 5 or JSON, plain, gzip or zstd. Raises CaptureError for
    what is no snapshot, is damaged, over 2 GiB, or holds sizes that are none or contradict each
    other. Blocks that do not add up to their segment's total count as not recorded.
    """
    data = _content(path)
    try:
        if data[:1] == b"\x80":
            source = pickle_guard.load(data, path)
            check(source, len(data))
            snapshot = _typed(source, msgspec.convert, _SnapshotFile, AllocatorEvent, Block)
        else:
            snapshot = _typed(data, _decoded, _Json, _JsonEvent, _JsonBlock)
    except UNREADABLE as error:
        why = "a name in it is no text" if isinstance(error, UnicodeError) else error
        raise CaptureError(f"not a memory snapshot: {why}", where=path) from error
    marked = (segment for mark in snapshot.marks for segment in mark.segments)
    sizes = sum(segment.total_size for segment in chain(snapshot.segments, marked))
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


def _decoded(text: Any, *, type: Any) -> Any:  # noqa: A002 - as of msgspec.convert
    """Return JSON as records of a type, by a decoder that is made once for it."""
    return _decoder(type).decode(text)


_decoder = cache(msgspec.json.Decoder)


def _typed(
    source: Any,
    typed: Any,
    kind: type[_SnapshotFile],
    event: type[AllocatorEvent],
    block: type[Block],
) -> Snapshot:
    """Return ``source`` as records; ``typed(value, type=…)`` checks and converts."""
    content = typed(source, type=kind)
    if len(content.device_traces) > _MOST_DEVICES:
        raise ValueError(f"traces of {len(content.device_traces):,} devices")
    reserved: dict[int, int] = {}
    for segment in content.segments:
        reserved[segment.device] = reserved.get(segment.device, 0) + segment.total_size
    device = max(reserved, key=lambda index: reserved[index], default=0)
    traces = content.device_traces[device : device + 1]
    events = typed(traces[0], type=list[event]) if traces else []  # type: ignore[valid-type]  # a type by variable
    stacks = _Stacks(content.stacks, typed)
    _resolve(events, stacks)
    segments = [segment for segment in content.segments if segment.device == device]
    of_blocks = list[block] | None  # type: ignore[valid-type]  # the same
    for segment in segments:
        _check_sizes(segment)
        segment.blocks = _blocks(typed(segment.blocks, type=of_blocks), segment)
        _resolve(segment.blocks or [], stacks)
    phases = sorted(content.phases, key=lambda phase: phase.time_us)
    marks = _marks(content.marks, device, typed)
    lengths = [
        len(events) if number == device else len(typed(trace, type=list[Any]))
        for number, trace in enumerate(content.device_traces)
    ]
    return Snapshot(segments, events, phases, marks, _devices(content.segments, lengths))


def _devices(segments: Sequence[Segment], lengths: list[int]) -> dict[str, list[int]]:
    """Return memory_devices: each device that has segments or events, of which it has lengths."""
    used = {number for number, length in enumerate(lengths) if length}
    devices = sorted({segment.device for segment in segments} | used)
    members = [[s for s in segments if s.device == device] for device in devices]
    return {
        "device": devices,
        "segments": [len(own) for own in members],
        "reserved_bytes": [sum(s.total_size for s in own) for own in members],
        "allocated_bytes": [sum(s.allocated_size for s in own) for own in members],
        "events": [lengths[device] if device < len(lengths) else 0 for device in devices],
    }


def _marks(marks: Sequence[Mark], device: int, typed: Any) -> list[Mark]:
    """Return the marks in order of time, with their segments of ``device``."""
    for mark in marks:
        segments = typed(mark.segments, type=list[Segment] | None) or []
        mark.segments = [segment for segment in segments if segment.device == device]
        for segment in mark.segments:
            _check_sizes(segment)
            segment.blocks = None
    return sorted(marks, key=lambda mark: mark.time_us)


def _check_sizes(segment: Segment) -> None:
    requested = segment.requested_size or 0
    if not requested <= segment.held or not segment.allocated_size <= segment.held:
        raise ValueError("a segment's allocated, active and requested sizes contradict each other")
    if segment.held > segment.total_size:
        raise ValueError("more is allocated of a segment than there is of it")


def _blocks(blocks: list[Block] | None, segment: Segment) -> list[Block] | None:
    """Return a segment's blocks, None if their sizes do not sum to its allocated bytes."""
    if (
        blocks is None
        or sum(block.size for block in blocks if block.live) != segment.allocated_size
    ):
        return None
    if any(block.live and (block.requested_size or 0) > block.size for block in blocks):
        return None
    return blocks


class _Stacks:
    """The stacks of a file, which are decoded if an event or a block names any."""

    def __init__(self, content: Any, typed: Any) -> None:
        self._content, self._typed = content, typed
        first = bytes(content)[:1] if isinstance(content, msgspec.Raw) else content
        if not (first in (b"[", b"n", None) or isinstance(first, list)):
            raise ValueError("its stacks are no list")

    @cached_property
    def _all(self) -> list[Any]:
        kind: Any = msgspec.Raw if isinstance(self._content, msgspec.Raw) else Any
        return self._typed(self._content, type=list[kind] | None) or []

    def __getitem__(self, number: int) -> Any:
        if not 0 <= number < len(self._all):
            raise ValueError(f"no stack {number} among {len(self._all)}")
        return self._all[number]


def _resolve(users: list[AllocatorEvent] | list[Block], stacks: _Stacks) -> None:
    """Give every event or block the frames that its index stands for."""
    for user in users:
        if user.stack is not None:
            user.frames = stacks[user.stack]


_LEAST_BYTES = 8
"""Of a record of its own: two keys and two values that are references take as many."""
_FEWEST = 200_000  # which take little memory


def check(source: Any, size: int) -> None:
    """Raise ValueError if a snapshot, unpickled from ``size`` bytes, has more records than room.

    Records are segments, their blocks, events, and the segments of marks. What is of another shape
    counts nothing.
    """
    most, records = max(_FEWEST, size // _LEAST_BYTES), 0
    for members in _lists(source):
        records += len(members)
        if records > most:
            raise ValueError(f"over {most:,} records in {size:,} bytes: it repeats some of them")


def _lists(source: Any) -> Iterator[list[Any]]:
    """Yield the lists of records; each that has others below it before those."""
    for key, below in (("segments", "blocks"), ("marks", "segments")):
        members = _list(source, key)
        yield members
        yield from (_list(member, below) for member in members)
    traces = _list(source, "device_traces")
    yield traces
    yield from _only_lists(traces)


def _list(mapping: Any, key: str) -> list[Any]:
    members = mapping.get(key) if isinstance(mapping, dict) else None
    return members if isinstance(members, list) else []


def _only_lists(members: Iterable[Any]) -> Iterator[list[Any]]:
    return (member for member in members if isinstance(member, list))
