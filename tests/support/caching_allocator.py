"""torch's caching allocator in miniature: it splits, merges and reuses blocks as torch does.

Rules of c10/cuda/CUDACachingAllocator without expandable segments: sizes round up to 512 bytes;
blocks of at most 1 MiB come from segments of 2 MiB, up to 10 MiB of 20 MiB, larger ones of a
multiple of 2 MiB; the smallest free piece that fits is split; neighbours merge as they are freed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.captures.memory import read as memory
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty
from tests.support.snapshots import written

KIB, MIB = 1 << 10, 1 << 20
Pool = tuple[int, int]


@dataclass(eq=False)
class Segment:
    """Pieces of one reservation: offset to (bytes, whether a tensor holds it)."""

    address: int
    size: int
    pool: Pool
    small: bool
    pieces: dict[int, tuple[int, bool]] = field(default_factory=dict)

    def dumped(self) -> dict[str, Any]:
        """Return what torch's snapshot has of it."""
        held = sum(size for size, used in self.pieces.values() if used)
        return {
            "address": self.address,
            "total_size": self.size,
            "allocated_size": held,
            "active_size": held,
            "segment_pool_id": list(self.pool),
            "segment_type": "small" if self.small else "large",
            "blocks": [
                {
                    "address": self.address + offset,
                    "size": size,
                    "requested_size": size,
                    "state": "active_allocated" if used else "inactive",
                }
                for offset, (size, used) in sorted(self.pieces.items())
            ],
        }


class Device:
    """A device whose tensors are addresses; every call is an event of the history."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.history: list[dict[str, Any]] = []
        self.phases: list[dict[str, Any]] = []
        self.reserved = self.peak_reserved = self.allocated = self.peak_allocated = 0
        self._pool: Pool = (0, 0)
        self._next = 1 << 40

    def phase(self, name: str) -> None:
        """Begin a phase."""
        self.phases.append({"name": name, "time_us": 2 * len(self.history) + 1})

    @contextmanager
    def pool(self, number: int) -> Iterator[None]:
        """Take memory from a graph's pool."""
        self._pool = (0, number)
        yield
        self._pool = (0, 0)

    def new(self, size: int, site: str = "model.py", *torch: tuple[str, str]) -> int:
        """Return the address of a block.

        ``torch`` are file and function of torch's own frames below the site, innermost first; the
        thread of a backward pass has no stack, which an empty site stands for.
        """
        size = max(1, -(-size // 512)) * 512
        small = size <= MIB
        fits = [
            (piece, segment.address, offset, segment)
            for segment in self.segments
            if segment.pool == self._pool and segment.small == small
            for offset, (piece, used) in segment.pieces.items()
            if not used and piece >= size
        ]
        piece, _, offset, segment = min(fits, default=None, key=lambda fit: fit[:3]) or (
            *self._reserve(size, small),
        )
        segment.pieces[offset] = (size, True)
        if piece > size:
            segment.pieces[offset + size] = (piece - size, False)
        self._event("alloc", segment.address + offset, size, site)
        below = [
            {"filename": f"/site-packages/torch/{file}", "line": 1, "name": name}
            for file, name in torch
        ]
        self.history[-1]["frames"][:0] = below
        return segment.address + offset

    def drop(self, *addresses: int) -> None:
        """Free blocks."""
        for address in addresses:
            segment = next(s for s in self.segments if s.address <= address < s.address + s.size)
            size, _ = segment.pieces[address - segment.address]
            segment.pieces[address - segment.address] = (size, False)
            merged: dict[int, tuple[int, bool]] = {}
            for offset, (piece, used) in sorted(segment.pieces.items()):
                last = next(reversed(merged), None)
                if last is not None and not used and not merged[last][1]:
                    merged[last] = (merged[last][0] + piece, False)
                else:
                    merged[offset] = (piece, used)
            segment.pieces = merged
            self._event("free_completed", address, size)

    def release(self, address: int) -> None:
        """Let go of a block that another stream may still use: it is free once it is dropped."""
        segment = next(s for s in self.segments if s.address <= address < s.address + s.size)
        self._event("free_requested", address, segment.pieces[address - segment.address][0])

    def fail(self, size: int, device_free: int, site: str = "model.py") -> None:
        """Ask for more than the driver has, which has ``device_free``; the cache is given back."""
        self.empty_cache()
        self._event("oom", 0, size, site)
        self.history[-1]["device_free"] = device_free

    def empty_cache(self) -> None:
        """Give segments that hold nothing back to the driver."""
        for segment in [s for s in self.segments if not any(u for _, u in s.pieces.values())]:
            self.segments.remove(segment)
            self.reserved -= segment.size
            self._event("segment_free", segment.address, segment.size)

    def snapshot(self, lost: int = 0) -> dict[str, Any]:
        """Return the snapshot, without the first ``lost`` events."""
        segments = [segment.dumped() for segment in self.segments]
        history = self.history[lost:]
        return {"segments": segments, "device_traces": [history], "phases": self.phases}

    def capture(self, folder: Path, lost: int = 0) -> Capture:
        """Return the snapshot as the reader tells it."""
        tables = {name: empty(name) for name in SCHEMAS}
        return Capture("made", tables | memory.read(written(folder, self.snapshot(lost))), {})

    def _reserve(self, size: int, small: bool) -> tuple[int, int, int, Segment]:
        granule = 2 * MIB
        total = granule if small else 20 * MIB if size < 10 * MIB else -(-size // granule) * granule
        segment = Segment(self._next, total, self._pool, small, {0: (total, False)})
        self._next += 2 * total
        self.segments.append(segment)
        self.reserved += total
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self._event("segment_alloc", segment.address, total)
        return total, segment.address, 0, segment

    def _event(self, action: str, address: int, size: int, site: str = "") -> None:
        frames = [{"filename": f"/w/{site}", "line": 1, "name": "f"}] if site else []
        time_us = 2 * (len(self.history) + 1)
        self.allocated += {"alloc": size, "free_completed": -size}.get(action, 0)
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        event = {"action": action, "addr": address, "size": size, "time_us": time_us}
        self.history.append(event | {"frames": frames})
