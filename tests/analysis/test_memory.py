"""What a memory capture tells and what it says it cannot, and the areas of its figure."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.memory import (
    highest,
    limits,
    mark_pools,
    peaks,
    pool_peaks,
    pools,
    stacked,
    totals,
)
from harness.analysis.units import size
from harness.captures.memory import read as memory
from harness.evidence.tables import FREED_POOL, empty, frame


def read(tmp_path: Path, history: list[Any], *segments: Any, **more: Any) -> Any:
    path = tmp_path / "memory.json"
    path.write_text(json.dumps({"segments": list(segments), "device_traces": [history], **more}))
    return memory.read(path)


def event(action: str, addr: int, count: int, time_us: int = 5) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": count, "time_us": time_us}


WHOLE = {
    "address": 0,
    "total_size": 4096,
    "allocated_size": 512,
    "active_size": 512,
    "requested_size": 500,
    "blocks": [{"size": 512, "requested_size": 500, "state": "active_allocated"}],
}
HISTORY = [event("segment_alloc", 0, 4096, 1), event("alloc", 0, 512, 3)]
PHASES = [{"name": "load", "time_us": 0}, {"name": "run", "time_us": 2}]
MARK = {
    "phase": "load",
    "time_us": 1,
    "used_bytes": 9000,
    "reserved_bytes": 4096,
    "allocated_bytes": 0,
}


def test_of_a_whole_capture_only_the_sum_outside_is_unknown(tmp_path: Path) -> None:
    (only,) = limits(read(tmp_path, HISTORY, WHOLE, phases=PHASES, marks=[MARK]))
    assert "known only as each phase ended" in only


@pytest.mark.parametrize(
    ("said", "history", "segment", "more"),
    [
        ("allocator is not in it", HISTORY, WHOLE, {"marks": []}),
        ("No phases", HISTORY, WHOLE, {"phases": []}),
        ("No history", [], WHOLE, {}),
        (
            "begins late: 4.10 kB were reserved and 0 B allocated before",
            HISTORY[1:],
            WHOLE,
            {},
        ),
        (
            "up to 7.00 kB were reserved in such segments at once",
            [
                *(event("segment_alloc", at, 3500, 3) for at in (9000, 20000)),
                *(event("segment_free", at, 3500, 3) for at in (9000, 20000)),
                *HISTORY,
            ],
            WHOLE,
            {},
        ),
        (
            "that were freed in the phase that reserved them is not recorded: up to 7.00 kB",
            [event("segment_alloc", 9000, 7000, 2), event("segment_free", 9000, 7000, 2), *HISTORY],
            WHOLE,
            {"marks": [MARK | {"segments": [WHOLE]}]},
        ),
        # A block is freed that was not allocated.
        (
            "What filled the pools at their peaks is not told",
            [*HISTORY, event("free_completed", 3000, 100), event("alloc", 1000, 200)],
            WHOLE | {"active_size": 612},
            {},
        ),
        ("Who holds 512 B", HISTORY, WHOLE | {"blocks": None}, {}),
        (
            "for every pool: rounding, awaiting free;",
            HISTORY,
            WHOLE | {"blocks": None, "active_size": None},
            {},
        ),
        ("No pools over time", HISTORY, WHOLE | {"address": None}, {}),
    ],
)
def test_each_limit_is_said_where_it_applies(
    tmp_path: Path, said: str, history: Any, segment: Any, more: Any
) -> None:
    given_more = {"phases": PHASES, "marks": [MARK]} | more
    assert any(
        said in sentence for sentence in limits(read(tmp_path, history, segment, **given_more))
    )
    whole = limits(read(tmp_path, HISTORY, WHOLE, phases=PHASES, marks=[MARK]))
    assert not any(said in sentence for sentence in whole)


def test_pools_have_a_column_a_part(tmp_path: Path) -> None:
    (row,) = pools(read(tmp_path, HISTORY, WHOLE)).to_dicts()
    assert row == {
        "pool": "default",
        "segments": 1,
        "reserved_bytes": 4096,
        "allocated_bytes": 512,
        "live": 500,
        "rounding": 12,
        "awaiting free": 0,
        "free in used segments": 4096 - 512,
        "free segments": 0,
    }


def test_pools_at_marks_have_a_column_a_part_and_the_largest_are_first(tmp_path: Path) -> None:
    small = WHOLE | {"segment_pool_id": [0, 2], "total_size": 5000}
    large = WHOLE | {"segment_pool_id": [0, 1], "total_size": 9000, "active_size": None}
    marks = [MARK | {"segments": [small]}, MARK | {"time_us": 2, "segments": [small, large]}]
    tables = read(tmp_path, [], marks=marks)
    keys = ("index", "pool", "reserved_bytes", "live", "rounding", "free in used segments")
    assert mark_pools(tables).select(keys).rows() == [
        (0, "graph pool (0, 2)", 5000, 500, 12, 4488),
        (1, "graph pool (0, 1)", 9000, 512, None, 8488),
        (1, "graph pool (0, 2)", 5000, 500, 12, 4488),
    ]
    assert mark_pools(read(tmp_path, [])).is_empty()


def test_pools_are_taken_at_their_first_peak(tmp_path: Path) -> None:
    history = [
        *HISTORY,
        event("segment_alloc", 9000, 700, 4),
        event("alloc", 9000, 40, 4),
        event("alloc", 9100, 40, 5),
        event("free_completed", 9100, 40, 5),
        event("segment_alloc", 9700, 300, 6),
        event("alloc", 9700, 40, 7),
        event("segment_alloc", 20000, 100, 8),  # never used
    ]
    graph = {"allocated_size": 40, "segment_pool_id": [0, 1]}
    segments = [
        WHOLE,
        graph | {"address": 9000, "total_size": 700},
        graph | {"address": 9700, "total_size": 300},
        {"address": 20000, "total_size": 100, "allocated_size": 0, "segment_pool_id": [0, 2]},
    ]
    phases = [*PHASES, {"name": "end", "time_us": 5}]
    peaks = pool_peaks(read(tmp_path, history, *segments, phases=phases))
    assert peaks.columns == ["pool", "phase", "allocated_bytes", "reserved_bytes", "unused_bytes"]
    assert peaks.rows() == [
        ("default", "run", 512, 4096, 3584),
        ("graph pool (0, 1)", "end", 80, 700, 620),
    ]
    before = read(tmp_path, [event("free_completed", 600, 90)], WHOLE | {"total_size": 9000})
    assert pool_peaks(before).rows() == [("default", None, 602, 9000, 8398)]
    assert pool_peaks(read(tmp_path, [])).is_empty()


def test_segments_count_after_the_warm_up_and_failures_always(tmp_path: Path) -> None:
    history = [
        event("segment_alloc", 0, 4096, 1),
        event("oom", 1 << 40, 1 << 40, 2),
        event("segment_alloc", 8192, 512, 11),
        event("alloc", 8192, 512, 12),
        event("free_completed", 8192, 512, 13),
        event("segment_free", 8192, 512, 14),
        event("segment_free", 0, 4096, 21),
    ]
    phases = [
        {"name": name, "time_us": time} for name, time in (("warmup", 0), ("run", 10), ("end", 20))
    ]
    assert totals(read(tmp_path, history, phases=phases)) == {
        "peak_allocated_bytes": 512,
        "peak_reserved_bytes": 4608,
        "out_of_memory": 1,
        "reserved_segments": 1,
        "reserved_bytes": 512,
        "returned_segments": 1,
        "returned_bytes": 512,
    }


def test_of_evidence_without_actions_only_the_peaks_are_known() -> None:
    rows = frame("memory_timeline", {"index": [0], "allocated_bytes": [1], "reserved_bytes": [2]})
    tables = {"memory_timeline": rows, "memory_by_pool": empty("memory_by_pool")}
    known = {"peak_allocated_bytes": 1, "peak_reserved_bytes": 2}
    assert {name: n for name, n in totals(tables).items() if n is not None} == known


def test_a_peak_before_the_first_event_counts(tmp_path: Path) -> None:
    freed = [event("free_completed", 1024, 1024), event("segment_free", 8192, 4096)]
    told = totals(read(tmp_path, freed, WHOLE))
    assert (told["peak_allocated_bytes"], told["peak_reserved_bytes"]) == (512 + 1024, 2 * 4096)


def test_peaks_are_by_phase_in_the_order_of_time() -> None:
    timeline = frame(
        "memory_timeline",
        {
            "index": [3, 2, 1, 0],
            "phase": ["b", "a", "a", None],
            "allocated_bytes": [1, 7, 9, 50],
            "reserved_bytes": [60, 20, 10, 50],
        },
    )
    assert peaks(timeline).rows() == [("a", 2, 9, 20), ("b", 1, 1, 60)]
    assert peaks(timeline.clear()).is_empty()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (2_500_000, "2.50 MB"),
        (10**13, "10,000.00 GB"),
    ],
)
def test_sizes_are_in_their_largest_unit(count: int, text: str) -> None:
    assert size(count) == text


@given(
    changes=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 50)), min_size=1, max_size=60),
    points=st.integers(1, 80),
)
def test_areas_stack_to_the_most_that_was_reserved_in_each_stretch(
    changes: list[tuple[int, int]], points: int
) -> None:
    names = [*(f"graph pool (0, {n})" for n in range(1, 8)), FREED_POOL, "default"]
    level = dict.fromkeys(names, 0)
    total, rows = [], [(-1, name, 0, 0) for name in names]
    for index, (which, reserved) in enumerate(changes):
        level[names[which]] = reserved
        rows.append((index, names[which], 0, reserved))
        total.append(sum(level.values()))
    columns = ("index", "pool", "allocated_bytes", "reserved_bytes")
    levels = frame("memory_by_pool", dict(zip(columns, zip(*rows, strict=True), strict=True)))
    timeline = frame("memory_timeline", {"index": range(len(total)), "reserved_bytes": total})
    areas = stacked(timeline, levels, points, 3)
    summed = areas.group_by("index", maintain_order=True).agg(pl.col("reserved_bytes").sum())
    assert summed.rows() == highest(timeline, ["reserved_bytes"], points).rows()
    drawn = areas["pool"].unique(maintain_order=True).to_list()
    assert len(drawn) <= 5
    assert drawn[-1] == FREED_POOL
