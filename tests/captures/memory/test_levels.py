"""Pools over the history: planted ones, real ones, and histories that no allocator made."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.memory import read as memory
from harness.evidence.tables import FREED_POOL
from tests.support.snapshots import (
    JSONS,
    PICKLES,
    A,
    B,
    adds_up,
    levels,
    standing,
    tables_of,
    written,
)
from tests.support.work import lines_run

POOLS = {(0, 0): "default", (0, 1): "graph pool (0, 1)", (0, 2): "graph pool (0, 2)"}
DEFAULT, ONE, TWO = POOLS.values()


def event(action: str, addr: int | None, size: int) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size}


def read(tmp_path: Path, history: list[Any], *segments: Any) -> Any:
    snapshot = {"segments": list(segments), "device_traces": [history]}
    return memory.read(written(tmp_path, snapshot))


@pytest.mark.parametrize("path", [*PICKLES, *JSONS], ids=lambda path: path.name)
def test_pools_of_real_captures_are_the_timeline(path: Path) -> None:
    tables = tables_of(path)
    assert not tables["memory_by_pool"].is_empty()
    adds_up(tables)


def test_blocks_belong_to_the_pool_of_the_segment_that_holds_them(tmp_path: Path) -> None:
    history = [
        event("segment_alloc", A, 100),
        event("alloc", A, 60),
        event("segment_alloc", B, 100),
        event("alloc", B + 50, 20),
        event("free_requested", A, 60),
        event("free_completed", A, 60),
    ]
    tables = read(
        tmp_path, history, standing(A, 100, 0, (0, 1)), standing(B, 100, 20, (0, 2), device=0)
    )
    assert tables["memory_by_pool"].rows()[2:] == [
        (0, ONE, 0, 100),
        (1, ONE, 60, 100),
        (2, TWO, 0, 100),
        (3, TWO, 20, 100),
        (5, ONE, 0, 100),
    ]
    assert sorted(tables["memory_by_pool"].rows()[:2]) == [(-1, ONE, 0, 0), (-1, TWO, 0, 0)]
    adds_up(tables)


def test_a_segment_that_was_freed_has_no_known_pool(tmp_path: Path) -> None:
    history = [
        event("segment_alloc", A, 500),  # freed: what stands at these addresses came later
        event("alloc", A, 300),
        event("free_completed", A, 300),
        event("segment_free", A, 500),
        event("segment_alloc", A + 100, 100),
        event("alloc", A + 100, 100),
    ]
    tables = read(tmp_path, history, standing(A + 100, 100, 100, (0, 1)))
    found = levels(tables)
    assert [found[at].get(FREED_POOL, 0) for at in range(-1, 6)] == [0, 500, 500, 500, 0, 0, 0]
    assert [found[at][ONE] for at in range(-1, 6)] == [0, 0, 0, 0, 0, 100, 100]
    adds_up(tables)


def test_what_stood_before_the_history_is_the_level_before_its_first_event(tmp_path: Path) -> None:
    history = [
        event("free_completed", A, 30),
        event("free_completed", B, 10),
        event("segment_free", B, 40),
    ]
    tables = read(tmp_path, history, standing(A, 100, 5, (0, 1)), standing(A * 9, 7, 0, (0, 0)))
    before = {pool: rest for index, pool, *rest in tables["memory_by_pool"].rows() if index < 0}
    assert before == {ONE: [35, 100], DEFAULT: [0, 7], FREED_POOL: [10, 40]}
    adds_up(tables)


def test_pieces_of_an_expandable_segment_are_of_its_pool(tmp_path: Path) -> None:
    history = [
        event("segment_map", A, 100),
        event("alloc", A, 90),
        event("segment_map", A + 100, 50),
        event("alloc", A + 100, 40),
        event("segment_map", B, 70),
        event("free_completed", A + 100, 40),
        event("segment_unmap", A + 110, 40),
        event("segment_map", 7 * B, 20),  # of a segment of which nothing stands
        event("segment_unmap", 7 * B, 20),
    ]
    segments = [
        standing(A, 110, 90, (0, 1), is_expandable=True),
        standing(B, 70, 0, (0, 2), is_expandable=True),
    ]
    tables = read(tmp_path, history, *segments)
    found = levels(tables)
    assert [found[at][ONE] for at in range(-1, 9)] == [0, 100, 100, *[150] * 4, 110, 110, 110]
    assert [found[at][TWO] for at in range(-1, 9)] == [0] * 5 + [70] * 5
    assert [found[at].get(FREED_POOL, 0) for at in (6, 7, 8)] == [0, 20, 0]
    adds_up(tables)


def test_a_piece_that_only_touches_what_stands_of_its_segment_is_of_its_pool(
    tmp_path: Path,
) -> None:
    history = [event("segment_unmap", A + 60, 40)]
    tables = read(tmp_path, history, standing(A, 60, 0, (0, 1), is_expandable=True))
    assert tables["memory_by_pool"].rows() == [(-1, ONE, 0, 100), (0, ONE, 0, 60)]


def test_a_segment_that_only_touches_another_is_not_of_its_pool(tmp_path: Path) -> None:
    history = [event("segment_free", A + 60, 40)]
    tables = read(tmp_path, history, standing(A, 60, 0, (0, 1)))
    assert levels(tables) == {-1: {ONE: 60, FREED_POOL: 40}, 0: {ONE: 60, FREED_POOL: 0}}


def test_addresses_of_an_expandable_segment_that_was_given_back_are_not_its_successors(
    tmp_path: Path,
) -> None:
    history = [
        event("segment_map", A, 100),
        event("segment_unmap", A, 100),
        event("segment_map", A, 60),
    ]
    tables = read(tmp_path, history, standing(A, 60, 0, (0, 1), is_expandable=True))
    found = levels(tables)
    assert [found[at][FREED_POOL] for at in range(-1, 3)] == [0, 100, 0, 0]
    adds_up(tables)


def test_a_block_that_waits_to_be_free_counts_until_it_is(tmp_path: Path) -> None:
    history = [
        event("segment_alloc", A, 100),
        event("alloc", A, 60),
        event("alloc", A + 60, 30),
        event("free_requested", A, 60),
    ]
    tables = read(tmp_path, history, standing(A, 100, 30, (0, 0), active_size=90))
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == [0, 60, 90, 90]
    assert [held[DEFAULT] for held in levels(tables, "allocated_bytes").values()] == [
        *(0, 0, 60, 90, 90)
    ]
    assert tables["memory_pools"]["allocated_bytes"].to_list() == [30]
    awaiting = tables["memory_parts"].filter(pl.col("part") == "awaiting free")
    assert awaiting["bytes"].to_list() == [60]


@pytest.mark.parametrize(
    ("history", "segments"),
    [
        ([event("alloc", None, 5)], [standing(A, 10, 5, (0, 0))]),
        ([event("alloc", A, 5)], [standing(None, 10, 5, (0, 0))]),
        ([event("alloc", A, 5)], [standing(A, 10, 5, (0, 0)), standing(None, 1, 0, (0, 1))]),
        # The block is of the one pool, the remaining allocation of the other.
        ([event("alloc", A, 5)], [standing(A, 10, 0, (0, 0)), standing(B, 10, 5, (0, 1))]),
        ([event("alloc", -A, 5)], [standing(A, 10, 5, (0, 0))]),
    ],
)
def test_without_addresses_that_agree_there_are_no_pools_over_time(
    tmp_path: Path, history: Any, segments: Any
) -> None:
    tables = read(tmp_path, history, *segments)
    assert tables["memory_by_pool"].is_empty()
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == [5]


def test_no_segments_and_no_events_have_no_levels(tmp_path: Path) -> None:
    assert read(tmp_path, [])["memory_by_pool"].is_empty()
    assert read(tmp_path, [event("oom", None, 9)], standing(A, 9, 1, (0, 0)))[
        "memory_by_pool"
    ].rows() == [(-1, DEFAULT, 1, 9)]


steps = st.lists(
    st.tuples(
        st.sampled_from(["segment", "drop", "alloc", "alloc", "free"]),
        st.integers(0, 9),
        st.integers(1, 9),
    ),
    max_size=60,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=steps, lost=st.integers(0, 30))
def test_levels_are_those_of_an_allocator_run_forward(tmp_path: Path, made: Any, lost: int) -> None:
    """Places are reused by segments of other pools; the start of the history may be lost."""
    segments: dict[int, Any] = {}  # by place: its name, and the blocks' sizes by address
    history, truth = [], []
    names: list[list[Any]] = []
    for what, place, size in made:
        address = (1 + place) * 1000
        if what == "segment" and place not in segments:
            name = [list(POOLS)[size % 3]]
            names.append(name)
            segments[place] = (name, {})
            history.append(event("segment_alloc", address, 100))
        elif what == "drop" and place in segments and not segments[place][1]:
            segments.pop(place)[0].append("freed")
            history.append(event("segment_free", address, 100))
        elif what == "alloc" and place in segments and address + size not in segments[place][1]:
            segments[place][1][address + size] = size
            history.append(event("alloc", address + size, size))
        elif what == "free" and place in segments and segments[place][1]:
            at, was = segments[place][1].popitem()
            history.append(event("free_completed", at, was))
        else:
            continue
        truth.append([(name, 100, sum(blocks.values())) for name, blocks in segments.values()])
    left = [
        standing((1 + place) * 1000, 100, sum(blocks.values()), name[0])
        for place, (name, blocks) in segments.items()
    ]
    lost = min(lost, len(history))
    tables = read(tmp_path, history[lost:], *left)
    if not tables["memory_by_pool"].is_empty():
        adds_up(tables)
    reserved, allocated = levels(tables), levels(tables, "allocated_bytes")
    for index, told in enumerate(truth[lost:]):
        expected: dict[str, list[int]] = {}
        for name, total, held in told:
            pool = FREED_POOL if len(name) > 1 else POOLS[name[0]]
            sums = expected.setdefault(pool, [0, 0])
            sums[0] += total
            sums[1] += held
        found = {
            pool: [reserved[index][pool], allocated[index][pool]]
            for pool in reserved[index]
            if reserved[index][pool]
        }
        assert found == expected


odd = st.tuples(
    st.sampled_from(
        ["alloc", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"]
    ),
    st.integers(-3, 40),
    st.integers(0, 9),
)
stands = st.tuples(st.integers(-3, 30), st.integers(0, 20), st.integers(0, 2), st.booleans())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(odd, max_size=30), left=st.lists(stands, max_size=6))
def test_any_history_sums_or_has_no_pools(tmp_path: Path, made: Any, left: Any) -> None:
    """Segments overlap, sizes contradict: nothing is made up, and nothing fails."""
    more = [event(action, addr, size) for action, addr, size in made]
    # Enough stands for any change that was made.
    segments = [standing(address, 1000 + size, 500, (0, pool)) for address, size, pool, _ in left]
    for segment, (*_, expandable) in zip(segments, left, strict=True):
        segment["is_expandable"] = expandable
    tables = read(tmp_path, more, standing(10**6, 9000, 9000, (0, 0)), *segments)
    if not tables["memory_by_pool"].is_empty():
        adds_up(tables)


def churn(tmp_path: Path, turns: int) -> Path:
    """Write a history of 8 events a turn, which uses 500 addresses again and again."""
    history: list[Any] = []
    for n in range(turns):
        here = 1000 * (n % 500) + 10**9
        history += [
            event("segment_alloc", here, 900),
            event("alloc", here, 800),
            event("free_completed", here, 800),
            event("segment_free", here, 900),
            event("segment_map", n, 1),
            event("alloc", n, 1),
            event("free_completed", n, 1),
            event("alloc", n, 1),
        ]
    left = standing(0, turns, turns, (0, 1), is_expandable=True)
    return written(tmp_path, {"segments": [left], "device_traces": [history]})


def test_work_grows_as_the_events_do(tmp_path: Path) -> None:
    path = churn(tmp_path, 1000)
    tables = memory.read(path)
    assert tables["memory_by_pool"].height == 8_000 + 2
    assert levels(tables)[-1] == {ONE: 0, FREED_POOL: 0}
    lines = lines_run(lambda: memory.read(path))
    path = churn(tmp_path, 4000)
    assert 3.5 * lines < lines_run(lambda: memory.read(path)) < 4.5 * lines
