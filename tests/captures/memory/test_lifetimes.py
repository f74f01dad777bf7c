"""Blocks and segments of the history, against an allocator that knows what it did."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.memory import read as memory
from harness.evidence.tables import FREED_POOL
from tests.support.caching_allocator import KIB, MIB, Device, Segment
from tests.support.snapshots import A, B, standing, written

SIZES = [4 * KIB, 700 * KIB, 3 * MIB, 9 * MIB, 14 * MIB, 40 * MIB]


class Watched(Device):
    """Notes what is free in partly used segments as another is reserved, and who was live when."""

    def __init__(self) -> None:
        super().__init__()
        self.free: list[int] = []
        self.cached: list[int] = []
        self.live: dict[int, list[Any]] = {}
        self.lived: list[list[Any]] = []

    def _reserve(self, size: int, small: bool) -> tuple[int, int, int, Segment]:
        alike = [s for s in self.segments if s.pool == self._pool and s.small == small]
        used = [s for s in alike if any(held for _, held in s.pieces.values())]
        self.free.append(sum(size for s in used for size, held in s.pieces.values() if not held))
        self.cached.append(sum(s.size for s in alike if s not in used))
        return super()._reserve(size, small)

    def _event(self, action: str, address: int, size: int, site: str = "") -> None:
        super()._event(action, address, size, site)
        index = len(self.history) - 1
        if action == "alloc":
            self.live[address] = [index, None, size]
            self.lived.append(self.live[address])
        elif action == "free_completed":
            self.live.pop(address)[1] = index


steps = st.lists(
    st.tuples(st.sampled_from(["new", "new", "drop", "pool", "empty"]), st.integers(0, 30))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(made=steps)
def test_blocks_and_segments_are_those_of_the_allocator(tmp_path: Path, made: Any) -> None:
    device, held = Watched(), list[int]()
    for what, number in made:
        if what == "new":
            held.append(device.new(SIZES[number % len(SIZES)]))
        elif what == "pool":
            with device.pool(1 + number % 2):
                held.append(device.new(SIZES[number % len(SIZES)]))
        elif what == "drop" and held:
            device.drop(held.pop(number % len(held)))
        elif what == "empty":
            device.empty_cache()
    tables = memory.read(written(tmp_path, device.snapshot()))
    blocks, segments = tables["memory_blocks"], tables["memory_segments"]
    assert blocks.select("index", "freed", "bytes").rows() == [tuple(row) for row in device.lived]
    # What was reserved and freed between snapshots is of no known pool, and counts as one.
    if FREED_POOL not in segments["pool"].cast(str).to_list():
        assert segments["free_bytes"].to_list() == device.free
        assert segments["cached_bytes"].to_list() == device.cached
    standing = segments.filter(segments["freed"].is_null())
    assert sorted(standing["bytes"]) == sorted(segment.size for segment in device.segments)


def test_of_a_history_without_its_start_the_free_bytes_before_it_count(tmp_path: Path) -> None:
    device = Watched()
    kept = [device.new(14 * MIB) for _ in range(4)]
    whole = device.new(64 * MIB)
    device.drop(whole)
    device.new(10 * MIB)
    lost = len(device.history)
    device.drop(kept[0])
    device.new(60 * MIB)
    tables = memory.read(written(tmp_path, device.snapshot(lost)))
    assert tables["memory_segments"]["free_bytes"].to_list() == [54 * MIB]
    before = [(-1, 0, 14 * MIB), *[(-1, None, 14 * MIB)] * 3, (-1, None, 10 * MIB)]
    rows = tables["memory_blocks"].select("index", "freed", "bytes").rows()
    assert rows == [*before, (2, None, 60 * MIB)]


def test_blocks_of_a_byte_count_as_any_other(tmp_path: Path) -> None:
    history = [  # of no GPU: nothing is rounded
        {"action": action, "addr": address, "size": size, "time_us": at}
        for at, (action, address, size) in enumerate(
            [
                ("segment_alloc", A, 100),
                ("alloc", A + 5, 1),
                ("segment_alloc", B, 100),  # beside 99 free bytes of a segment that is used
                ("free_completed", A + 5, 1),
                ("segment_alloc", B + 200, 50),  # no segment is used
            ]
        )
    ]
    left = [standing(at, size, 0, (0, 0)) for at, size in ((A, 100), (B, 100), (B + 200, 50))]
    tables = memory.read(written(tmp_path, {"segments": left, "device_traces": [history]}))
    assert tables["memory_blocks"].select("index", "freed", "bytes").rows() == [(1, 3, 1)]
    assert tables["memory_segments"]["free_bytes"].to_list() == [0, 99, 0]


def test_a_block_that_was_not_split_counts_whole_where_it_stands(tmp_path: Path) -> None:
    blocks = [
        {"size": 2048, "requested_size": 600, "state": "active_allocated"},
        {"size": 1024, "requested_size": 1024, "state": "active_allocated"},
        {"size": 1024, "requested_size": 0, "state": "inactive"},
    ]
    segment = standing(A, 4096, 3072, (0, 0), blocks=blocks, segment_type="small")
    history = [{"action": "alloc", "addr": A, "size": 600, "time_us": 1}]
    tables = memory.read(written(tmp_path, {"segments": [segment], "device_traces": [history]}))
    rows = tables["memory_blocks"].select("index", "bytes").rows()
    assert rows == [(-1, 1024), (0, 2048)]
    assert tables["memory_by_pool"].row(0) == (-1, "default", 1024, 4096)
    assert tables["memory_free"].rows() == [(0, 1024, 0, 1024)]


def test_a_block_that_waits_for_another_stream_is_released_before_it_is_freed(
    tmp_path: Path,
) -> None:
    """The second is released, and stands as its stream has not passed; the third is held."""
    device = Device()
    first, second, _ = (device.new(2 * MIB) for _ in range(3))
    device.release(first)
    device.drop(first)
    device.release(second)
    rows = device.capture(tmp_path).tables["memory_blocks"]
    assert rows.select("index", "released", "freed").rows() == [
        (1, 4, 5),
        (2, 6, None),
        (3, None, None),
    ]
