"""What filled each pool at its peak: planted, real, and against an allocator that knows it."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.memory import peaks as memory_peaks
from harness.captures.memory import read as memory
from harness.evidence.tables import FREED_POOL
from harness.ground.errors import CaptureError
from tests.support.allocator import POOLS, Allocator, steps
from tests.support.snapshots import JSONS, PICKLES, A, B, frames, standing, tables_of, written

DEFAULT, ONE, TWO = POOLS.values()
UNKNOWN = "unknown (no stack recorded)"


def event(action: str, addr: int, size: int, *lines: str) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "frames": frames(*lines)}


def read(tmp_path: Path, history: list[Any], *segments: Any) -> Any:
    return memory.read(written(tmp_path, {"segments": list(segments), "device_traces": [history]}))


def test_blocks_of_a_peak_are_told_though_they_are_dead(tmp_path: Path) -> None:
    history = [
        event("segment_alloc", A, 100),
        event("segment_alloc", B, 100),
        event("alloc", A, 10, "/w/a.py", "/w/main.py"),
        event("alloc", A + 10, 20, "/w/a.py", "/w/other.py"),
        event("alloc", B, 5, "/w/b.py"),
        event("alloc", A + 30, 12, "/w/a.py", "/w/main.py"),
        event("free_completed", A + 10, 20),
        event("alloc", A + 50, 20, "/w/later.py"),  # as much again, but not the first time
        event("free_completed", A, 10),
        event("free_completed", A + 30, 12),
        event("free_completed", A + 50, 20),
    ]
    tables = read(tmp_path, history, standing(A, 100, 0, (0, 1)), standing(B, 100, 5, (0, 0)))
    a, main, other, b = "w/a.py:1 f", "w/main.py:2 f", "w/other.py:2 f", "w/b.py:1 f"
    assert tables["memory_pool_peaks"].rows() == [
        (ONE, a, f"{a} < {main}", 2, 22),
        (ONE, a, f"{a} < {other}", 1, 20),
        (DEFAULT, b, b, 1, 5),
    ]


def test_blocks_count_as_the_allocator_rounds_them(tmp_path: Path) -> None:
    history = [event("alloc", A, 1, "/w/a.py"), event("alloc", A + 512, 513, "/w/a.py")]
    tables = read(tmp_path, history, standing(A, 2048, 1536, (0, 0), segment_type="small"))
    assert [row[3:] for row in tables["memory_pool_peaks"].rows()] == [(2, 1536)]


def test_what_was_allocated_before_the_history_has_no_stack_and_no_count(tmp_path: Path) -> None:
    history = [
        event("free_completed", A, 30),
        event("alloc", A, 40, "/w/a.py"),
        event("alloc", A + 40, 4),  # nor has this one, but its count is lost among the others
    ]
    tables = read(tmp_path, history, standing(A, 100, 51, (0, 1)), standing(B, 9, 8, (0, 2)))
    assert tables["memory_pool_peaks"].rows() == [
        (ONE, "w/a.py:1 f", "w/a.py:1 f", 1, 40),
        (ONE, UNKNOWN, UNKNOWN, None, 11),
        (TWO, UNKNOWN, UNKNOWN, None, 8),
    ]


def test_a_pool_that_held_most_before_the_history_is_all_unknown(tmp_path: Path) -> None:
    history = [event("free_completed", A, 30), event("alloc", A, 20, "/w/a.py")]
    tables = read(tmp_path, history, standing(A, 100, 25, (0, 1)))
    assert tables["memory_pool_peaks"].rows() == [(ONE, UNKNOWN, UNKNOWN, None, 35)]


def test_pools_that_held_nothing_have_no_rows(tmp_path: Path) -> None:
    history = [event("segment_alloc", A, 100)]
    assert read(tmp_path, history, standing(A, 100, 0, (0, 1)))["memory_pool_peaks"].is_empty()
    assert read(tmp_path, [])["memory_pool_peaks"].is_empty()


def test_a_block_whose_release_is_lost_is_replaced_by_the_next_at_its_address(
    tmp_path: Path,
) -> None:
    history = [event("alloc", A, 30, "/w/a.py"), event("alloc", A, 50, "/w/b.py")]
    tables = read(tmp_path, history, standing(A, 100, 80, (0, 1)))
    assert tables["memory_pool_peaks"].rows() == [
        (ONE, "w/b.py:1 f", "w/b.py:1 f", 1, 50),
        (ONE, UNKNOWN, UNKNOWN, None, 30),
    ]


@pytest.mark.parametrize(
    ("history", "segment"),
    [
        ([event("alloc", A, 5)], standing(None, 10, 5, (0, 0))),  # there are no levels
        # What is freed was never allocated, so that blocks are more than what is.
        (
            [event("alloc", A, 9), event("free_completed", A + 50, 4), event("alloc", A + 20, 5)],
            standing(A, 100, 10, (0, 0)),
        ),
    ],
)
def test_blocks_that_contradict_the_levels_fill_nothing(
    tmp_path: Path, history: Any, segment: Any
) -> None:
    assert read(tmp_path, history, segment)["memory_pool_peaks"].is_empty()


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = [event("alloc", A + n, 1, f"/w/{n}.py") for n in range(20)]
    monkeypatch.setattr(memory_peaks, "_MOST_ROWS", 20)
    segment = standing(A, 100, 20, (0, 0))
    assert read(tmp_path, history, segment)["memory_pool_peaks"].height == 20
    monkeypatch.setattr(memory_peaks, "_MOST_ROWS", 19)
    with pytest.raises(CaptureError, match="more than 19 stacks"):
        read(tmp_path, history, segment)


def without_python(path: Path) -> int:
    """Return the bytes that threads without Python allocated, such as autograd's for the GPU."""
    if path not in JSONS:
        return 0
    held = json.loads(gzip.decompress(path.read_bytes()))
    events = (event for trace in held["device_traces"] for event in trace)
    stackless = (each for each in events if each["action"] == "alloc" and "stack" not in each)
    return sum(-(-each["size"] // 512) * 512 for each in stackless)


@pytest.mark.parametrize("path", [*PICKLES, *JSONS], ids=lambda path: path.name)
def test_rows_of_real_captures_sum_to_the_peak_of_each_pool(path: Path) -> None:
    tables = tables_of(path)
    levels = tables["memory_by_pool"].with_columns(pl.col("pool").cast(pl.String))
    most = dict(levels.group_by("pool").agg(pl.col("allocated_bytes").max()).rows())
    filled = tables["memory_pool_peaks"]
    assert dict(filled.group_by("pool").agg(pl.col("bytes").sum()).rows()) == {
        pool: size for pool, size in most.items() if size
    }
    assert filled["bytes"].is_sorted(descending=True)
    if levels.filter(pl.col("index") < 0)["allocated_bytes"].sum() == 0:
        assert filled["count"].null_count() == 0
        unknown = filled.filter(pl.col("site") == UNKNOWN)["bytes"].sum()
        assert unknown <= without_python(path)


def filling(allocator: Allocator, lost: int) -> dict[tuple[str, str], tuple[int | None, int]]:
    """Return count and bytes by pool and site at each pool's peak, as the allocator knows them."""
    before = allocator.truth[lost - 1] if lost else []
    early = {(id(one), *block) for one, _, blocks in before for block in blocks.items()}
    tops: dict[str, int] = {}
    rows: dict[str, Counter[str]] = {}
    counts: dict[str, Counter[str]] = {}
    for told in [before, *allocator.truth[lost:]]:
        now: dict[str, Counter[str]] = {}
        number: dict[str, Counter[str]] = {}
        for one, _, blocks in told:
            known = any(at > lost for at in one.seen)
            pool = POOLS[one.pool] if known else FREED_POOL
            for at, (size, site) in blocks.items():
                name = UNKNOWN if (id(one), at, (size, site)) in early else site
                now.setdefault(pool, Counter())[name] += size
                number.setdefault(pool, Counter())[name] += 1
        for pool, held in now.items():
            if sum(held.values()) > tops.get(pool, 0):
                tops[pool], rows[pool], counts[pool] = sum(held.values()), held, number[pool]
        # What is freed may come again at the same address, and is of the history then.
        early &= {(id(one), *block) for one, _, blocks in told for block in blocks.items()}
    return {
        (pool, site): (None if site == UNKNOWN else counts[pool][site], size)
        for pool, held in rows.items()
        for site, size in held.items()
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=steps("segment alloc alloc alloc alloc free less mark", 3), lost=st.integers(0, 30))
def test_blocks_are_those_of_an_allocator_with_marks(tmp_path: Path, made: Any, lost: int) -> None:
    allocator = Allocator.after(made)
    lost = min(lost, len(allocator.history))
    tables = memory.read(written(tmp_path, allocator.snapshot(lost)))
    rows = tables["memory_pool_peaks"].select("pool", "site", "count", "bytes").rows()
    assert {(pool, site): (count, size) for pool, site, count, size in rows} == filling(
        allocator, lost
    )
