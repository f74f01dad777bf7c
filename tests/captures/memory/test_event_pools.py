"""Pools of events by the marks: planted histories, and an allocator that knows the truth."""

from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.memory import read as memory
from harness.evidence.tables import FREED_POOL
from tests.support.allocator import POOLS, Allocator, steps
from tests.support.snapshots import JSONS, A, B, adds_up, levels, standing, written

DEFAULT, ONE, TWO = POOLS.values()


def event(action: str, addr: int | None, size: int, time_us: int | None) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "time_us": time_us}


def mark(time_us: int, *segments: Any) -> dict[str, Any]:
    sizes = {"used_bytes": 0, "reserved_bytes": 0, "allocated_bytes": 0}
    return {"phase": "p", "time_us": time_us, "segments": list(segments), **sizes}


def read(tmp_path: Path, history: list[Any], marks: list[Any], *segments: Any) -> Any:
    snapshot = {"segments": list(segments), "device_traces": [history], "marks": marks}
    return memory.read(written(tmp_path, snapshot))


def reserved(tables: Any, pool: str) -> list[int]:
    return [level.get(pool, 0) for level in levels(tables).values()]


def allocated(tables: Any, pool: str) -> list[int]:
    return [level.get(pool, 0) for level in levels(tables, "allocated_bytes").values()]


GONE = [
    event("segment_alloc", A, 100, 10),
    event("alloc", A + 5, 60, 20),
    event("free_completed", A + 5, 60, 40),
    event("segment_free", A, 100, 50),
]


def test_a_pool_that_is_gone_at_the_end_is_known_by_a_mark(tmp_path: Path) -> None:
    tables = read(tmp_path, GONE, [mark(30, standing(A, 100, 60, (0, 1)))])
    assert reserved(tables, ONE) == [0, 100, 100, 100, 0]
    assert allocated(tables, ONE) == [0, 0, 60, 0, 0]
    assert reserved(tables, FREED_POOL) == [0] * 5
    adds_up(tables)


def test_addresses_that_another_pool_uses_again_are_of_each_in_its_time(tmp_path: Path) -> None:
    later = [
        event("segment_alloc", A - 20, 70, 60),
        event("alloc", A, 30, 70),
        event("free_completed", A, 30, 90),
        event("segment_free", A - 20, 70, 100),
        event("segment_alloc", A, 80, 110),
    ]
    marks = [mark(30, standing(A, 100, 60, (0, 1))), mark(80, standing(A - 20, 70, 30, (0, 2)))]
    tables = read(tmp_path, GONE + later, marks, standing(A, 80, 0, (0, 0)))
    assert reserved(tables, ONE) == [0, 100, 100, 100, *[0] * 6]
    assert reserved(tables, TWO) == [*[0] * 5, 70, 70, 70, 0, 0]
    assert reserved(tables, DEFAULT) == [*[0] * 9, 80]
    assert allocated(tables, TWO) == [*[0] * 6, 30, 0, 0, 0]
    adds_up(tables)


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [mark(5), mark(55)],  # none while it stood
        [mark(5, standing(A, 100, 0, (0, 1)))],  # what was lost since may have freed that one
        [mark(55, standing(A, 100, 0, (0, 1)))],
        [mark(30, standing(A, 90, 0, (0, 1)))],  # another one at its addresses
        [mark(30, standing(A - 5, 100, 0, (0, 1)))],
        [mark(30, standing(A, 100, 0, (0, 1), is_expandable=True))],
        [mark(30, standing(None, 100, 0, (0, 1)))],
        [mark(30, standing(A, 100, 0, (0, 1), device=1))],
    ],
)
def test_without_a_mark_that_saw_it_a_freed_segment_has_no_known_pool(
    tmp_path: Path, marks: Any
) -> None:
    tables = read(tmp_path, GONE, marks, standing(B, 9, 0, (0, 0)))
    assert reserved(tables, FREED_POOL) == [0, 100, 100, 100, 0]
    assert reserved(tables, ONE) == [0] * 5
    adds_up(tables)


def test_a_mark_is_of_the_time_after_an_event_of_the_same_microsecond(tmp_path: Path) -> None:
    for time_us, known in ((9, 0), (10, 100), (49, 100), (50, 0)):
        tables = read(tmp_path, GONE, [mark(time_us, standing(A, 100, 60, (0, 1)))])
        assert max(reserved(tables, ONE)) == known, time_us


def test_what_stood_before_the_history_is_known_by_its_first_mark(tmp_path: Path) -> None:
    marks = [mark(30, standing(A, 100, 60, (0, 1)))]
    tables = read(tmp_path, [*GONE[2:], event("oom", None, 1, 60)], marks)
    assert reserved(tables, FREED_POOL) == [100, 100, 0, 0]  # the mark is from before it
    tables = read(tmp_path, GONE[1:], marks)
    assert reserved(tables, ONE) == [100, 100, 100, 0]
    assert allocated(tables, ONE) == [0, 60, 0, 0]


def test_events_without_a_time_are_of_no_mark(tmp_path: Path) -> None:
    timeless = [one | {"time_us": None} for one in GONE]
    tables = read(tmp_path, timeless, [mark(30, standing(A, 100, 60, (0, 1)))])
    assert max(reserved(tables, FREED_POOL)) == 100
    adds_up(tables)


def test_an_expandable_segment_that_is_gone_is_known_by_a_mark(tmp_path: Path) -> None:
    history = [
        event("segment_map", A, 200, 10),
        event("alloc", A + 150, 40, 20),
        event("segment_unmap", A, 50, 30),
        event("segment_unmap", A + 50, 50, 40),
        event("free_completed", A + 150, 40, 60),
        event("segment_unmap", A + 100, 100, 70),
        event("segment_map", A, 10, 80),  # reserved anew, by another pool
    ]
    stood = standing(A + 100, 100, 40, (0, 1), is_expandable=True)
    left = standing(A, 10, 0, (0, 2), is_expandable=True)
    tables = read(tmp_path, history, [mark(50, stood)], left)
    assert reserved(tables, ONE) == [0, 200, 200, 150, 100, 100, 0, 0]
    assert reserved(tables, TWO) == [0] * 7 + [10]
    assert reserved(tables, FREED_POOL) == [0] * 8
    adds_up(tables)


def test_pieces_that_a_hole_parts_are_one_where_the_hole_was_mapped(tmp_path: Path) -> None:
    history = [
        event("segment_map", A, 300, 10),
        event("segment_unmap", A + 100, 100, 20),
        event("segment_unmap", A, 100, 30),  # known only by what else was mapped with it
        event("segment_unmap", A + 200, 100, 50),
        event("segment_map", A, 300, 60),  # stood at no mark
        event("segment_unmap", A, 300, 70),
    ]
    stood = standing(A + 200, 100, 0, (0, 1), is_expandable=True)
    tables = read(tmp_path, history, [mark(40, stood)])
    assert reserved(tables, ONE) == [0, 300, 200, 100, 0, 0, 0]
    assert reserved(tables, FREED_POOL) == [0, 0, 0, 0, 0, 300, 0]
    adds_up(tables)


def test_a_mark_that_contradicts_a_later_one_names_nothing(tmp_path: Path) -> None:
    marks = [mark(at, standing(A, 100, 60, (0, pool))) for at, pool in ((20, 1), (30, 2))]
    tables = read(tmp_path, GONE, marks)
    assert reserved(tables, TWO) == [0, 100, 100, 100, 0]
    adds_up(tables)


@pytest.mark.parametrize("path", JSONS, ids=lambda path: path.name)
def test_pools_of_real_captures_are_at_each_mark_what_it_says(path: Path) -> None:
    tables = memory.read(path)
    times = tables["memory_timeline"]["time_ns"].to_list()
    of_reserved, of_allocated = levels(tables), levels(tables, "allocated_bytes")
    parts = tables["memory_mark_parts"]
    for at, time_ns in tables["memory_marks"].select("index", "time_ns").rows():
        held: dict[str, list[int]] = {}
        for _, pool, part, size in parts.filter(parts["index"] == at).rows():
            sums = held.setdefault(pool, [0, 0])
            sums[0] += size
            sums[1] += size if part in ("live", "rounding", "awaiting free") else 0
        event = bisect_right(times, time_ns) - 1
        found = {
            pool: [size, of_allocated[event][pool]]
            for pool, size in of_reserved[event].items()
            if size
        }
        assert found == held or parts.is_empty()  # older marks have no segments


def known(truth: Any, lost: int) -> dict[str, list[int]]:
    """Return reserved and allocated bytes by pool, as far as anything can know the pool."""
    found: dict[str, list[int]] = {}
    for segment, size, blocks in truth:
        # A mark from before the first event that is left is not of this history.
        seen = any(at > lost for at in segment.seen)
        sums = found.setdefault(POOLS[segment.pool] if seen else FREED_POOL, [0, 0])
        sums[0] += size
        sums[1] += sum(held for held, _ in blocks.values())
    return found


def agrees(tables: Any, allocator: Allocator, lost: int) -> None:
    if not tables["memory_by_pool"].is_empty():
        adds_up(tables)
    of_reserved, of_allocated = levels(tables), levels(tables, "allocated_bytes")
    for index, told in enumerate(allocator.truth[lost:]):
        found = {
            pool: [size, of_allocated[index][pool]]
            for pool, size in of_reserved[index].items()
            if size
        }
        assert found == known(told, lost)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=steps("segment alloc alloc free less less mark", 3), lost=st.integers(0, 30))
def test_pools_are_those_of_an_allocator_with_marks(tmp_path: Path, made: Any, lost: int) -> None:
    allocator = Allocator.after(made)
    lost = min(lost, len(allocator.history))
    agrees(memory.read(written(tmp_path, allocator.snapshot(lost))), allocator, lost)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(
    made=steps(
        "expandable expandable segment alloc free free more more more less less less mark", 2
    )
)
def test_pools_of_expandable_segments_are_those_of_an_allocator(tmp_path: Path, made: Any) -> None:
    allocator = Allocator.after(made)
    agrees(memory.read(written(tmp_path, allocator.snapshot())), allocator, 0)


odd = st.tuples(
    st.sampled_from(
        ["alloc", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"]
    ),
    st.integers(-3, 40),
    st.integers(0, 9),
    st.none() | st.integers(0, 30),
)
stands = st.builds(
    lambda address, size, pool, expandable: standing(
        address, 1000 + size, 500, (0, pool), is_expandable=expandable
    ),
    st.integers(-3, 30),
    st.integers(0, 20),
    st.integers(0, 2),
    st.booleans(),
)
odd_marks = st.lists(
    st.builds(
        lambda time_us, segments: mark(time_us, *segments),
        st.integers(0, 30),
        st.lists(stands, max_size=4),
    ),
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(odd, max_size=30), left=st.lists(stands, max_size=4), marks=odd_marks)
def test_any_history_and_marks_sum_or_have_no_pools(
    tmp_path: Path, made: Any, left: Any, marks: Any
) -> None:
    history = [event(*one) for one in made]
    # Enough stands for any change that was made.
    tables = read(tmp_path, history, marks, standing(10**6, 9000, 9000, (0, 0)), *left)
    if not tables["memory_by_pool"].is_empty():
        adds_up(tables)
    for pool in set(tables["memory_pool_peaks"]["pool"]):
        rows = tables["memory_pool_peaks"].filter(tables["memory_pool_peaks"]["pool"] == pool)
        assert rows["bytes"].sum() == max(allocated(tables, pool))
        assert rows["bytes"].min() > 0
