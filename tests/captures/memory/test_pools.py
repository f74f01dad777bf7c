"""Pools and their parts at the snapshot, and live blocks, against sums by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.formats import pickle_guard
from harness.captures.formats.compressed import blocks as unpacked
from harness.captures.memory import read as memory
from harness.captures.memory import read as memory_read
from harness.ground.errors import CaptureError
from tests.support.paths import ROOT
from tests.support.snapshots import JSONS, PICKLES, frames, tables_of, written

DATA = ROOT / "tests" / "data"
MIB = 1 << 20
TORCH = "/v/lib/python3.12/site-packages/torch/nn/modules/module.py"


def raw(path: Path) -> Any:
    data = b"".join(unpacked(path, 1 << 20))
    return pickle_guard.load(data, path) if data[:1] == b"\x80" else json.loads(data)


def block(size: int, asked: int | None, state: str = "active_allocated", *lines: str) -> Any:
    made: dict[str, Any] = {"size": size, "state": state, "address": 0, "frames": frames(*lines)}
    return made if asked is None else made | {"requested_size": asked}


def of_blocks(address: int, pool: tuple[int, int], *blocks: Any, **more: Any) -> dict[str, Any]:
    """Make a segment with the totals that torch gives it."""
    live = [one for one in blocks if one["state"] == "active_allocated"]
    active = [one for one in blocks if one["state"] != "inactive"]
    return {
        "address": address,
        "total_size": sum(one["size"] for one in blocks),
        "allocated_size": sum(one["size"] for one in live),
        "active_size": sum(one["size"] for one in active),
        "requested_size": sum(one.get("requested_size", 0) for one in active),
        "segment_pool_id": pool,
        "segment_type": "large",
        "blocks": list(blocks),
    } | more


def parts_of(tables: Any, pool: str) -> list[Any]:
    return [size for name, _, size in tables["memory_parts"].rows() if name == pool]


LEAKED = block(4096, 4000, "active_allocated", TORCH, "/w/train.py", "/w/main.py")
WORKSPACE = block(32 * MIB, 32 * MIB, "active_allocated", "/w/lib/cublas.py")
WAITING = block(1024, 1000, "active_awaiting_free", "/w/side.py")
FREE = block(2 * MIB - 4096 - 1024, 77, "inactive")
PLANTED = {
    "segments": [
        of_blocks(0, (0, 0), LEAKED, WAITING, FREE),
        of_blocks(4 * MIB, (0, 0), block(20 * MIB, 9, "inactive")),
        of_blocks(64 * MIB, (0, 1), WORKSPACE),
        of_blocks(128 * MIB, (0, 2), LEAKED, LEAKED, block(512, 500, "inactive")),
    ],
    "device_traces": [[]],
}


@pytest.mark.parametrize("kind", ["json", "pickle"])
def test_each_pool_is_divided_into_what_its_bytes_are(tmp_path: Path, kind: str) -> None:
    tables = memory.read(written(tmp_path, PLANTED, kind))
    assert parts_of(tables, "default") == [4000, 96, 1024, 2 * MIB - 4096 - 1024, 20 * MIB]
    assert parts_of(tables, "graph pool (0, 1)") == [32 * MIB, 0, 0, 0, 0]
    assert parts_of(tables, "graph pool (0, 2)") == [8000, 192, 0, 512, 0]


@pytest.mark.parametrize("kind", ["json", "pickle"])
def test_live_blocks_are_grouped_by_pool_and_stack(tmp_path: Path, kind: str) -> None:
    live = memory.read(written(tmp_path, PLANTED, kind))["memory_live"]
    site, stack = "w/train.py:2 f", "w/train.py:2 f < w/main.py:3 f"
    workspace = "lib/cublas.py:1 f"
    assert live.rows() == [
        ("graph pool (0, 1)", workspace, workspace, 1, 32 * MIB, 32 * MIB),
        ("graph pool (0, 2)", site, stack, 2, 8192, 8000),
        ("default", site, stack, 1, 4096, 4000),
    ]


def test_stacks_that_stand_once_in_the_file_are_found_by_their_index(tmp_path: Path) -> None:
    held = {"size": 512, "state": "active_allocated", "requested_size": 5}
    segment = {"total_size": 1024, "allocated_size": 1024, "blocks": [held | {"stack": 1}, held]}
    event: dict[str, Any] = {"action": "alloc", "size": 5, "addr": 0, "stack": 1}
    snapshot = {
        "segments": [segment],
        "device_traces": [[event]],
        "stacks": [frames("/a/b.py"), frames("/c/d.py")],
    }
    tables = memory.read(written(tmp_path, snapshot))
    assert tables["memory_live"]["site"].to_list() == [
        "c/d.py:1 f",
        "unknown (no stack recorded)",
    ]
    assert tables["memory_sites"]["site"].to_list() == ["c/d.py:1 f"]
    for wrong in (2, -1):
        event["stack"] = wrong
        with pytest.raises(CaptureError, match="no stack"):
            memory.read(written(tmp_path, snapshot))


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.name)
def test_pools_parts_and_live_blocks_of_a_real_pickle_are_its_blocks_sums(path: Path) -> None:
    told: Counter[tuple[str, str]] = Counter()
    lines: Counter[str] = Counter()
    for segment in raw(path)["segments"]:
        pool = tuple(segment["segment_pool_id"])
        name = "default" if pool == (0, 0) else f"graph pool {pool}"
        states = {one["state"] for one in segment["blocks"]}
        told[name, "reserved"] += segment["total_size"]
        for one in segment["blocks"]:
            if one["state"] == "active_allocated":
                told[name, "live"] += one["requested_size"]
                told[name, "rounding"] += one["size"] - one["requested_size"]
                first = one["frames"][0]
                place = "/".join(first["filename"].split("/")[-2:])
                lines[f"{place}:{first['line']} {first['name']}"] += one["size"]
            elif states == {"inactive"}:
                told[name, "free segments"] += one["size"]
            else:
                told[name, "free in used segments"] += one["size"]
    tables = tables_of(path)
    for pool, part, size in tables["memory_parts"].rows():
        assert size == told[pool, part], (pool, part)
    for pool, _, reserved, _ in tables["memory_pools"].rows():
        assert reserved == sum(parts_of(tables, pool)) == told[pool, "reserved"]
    live = tables["memory_live"]
    assert dict(live.group_by("site").agg(live["bytes"].sum()).rows()).keys() == lines.keys()
    for site, size in lines.items():
        assert live.filter(live["site"] == site)["bytes"].sum() == size
    assert live["bytes"].sum() == tables["memory_pools"]["allocated_bytes"].sum()


@pytest.mark.parametrize("path", JSONS, ids=lambda path: path.name)
def test_parts_of_the_probes_captures_are_their_segments_sums(path: Path) -> None:
    tables = memory.read(path)
    for pool, _, reserved, allocated in tables["memory_pools"].rows():
        live, rounding, awaiting, *free = parts_of(tables, pool)
        assert live + rounding == allocated
        assert allocated + awaiting + sum(free) == reserved
    told = raw(path)["segments"]
    assert sum(size for _, part, size in tables["memory_parts"].rows() if part == "live") == sum(
        one["requested_size"] for one in told
    )
    held = [one for segment in told for one in segment.get("blocks", [])]  # older ones have none
    live = sum(one["size"] for one in held if one["state"] == "active_allocated")
    assert tables["memory_live"]["bytes"].sum() == live


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, [60, None, None, 40, 0]),
        ({"active_size": 60}, [60, None, 0, 40, 0]),
        ({"active_size": 60, "requested_size": 50}, [50, 10, 0, 40, 0]),
        ({"requested_size": 50}, [60, None, None, 40, 0]),
        # Asked for by live blocks and by those that wait: not told apart.
        ({"active_size": 70, "requested_size": 50}, [60, None, 10, 30, 0]),
        ({"active_size": 60, "blocks": [block(60, None)]}, [60, None, 0, 40, 0]),
        # Blocks that are not the whole of what is allocated tell nothing.
        ({"active_size": 60, "blocks": [block(59, 40)]}, [60, None, 0, 40, 0]),
        ({"active_size": 60, "blocks": [block(60, 61)]}, [60, None, 0, 40, 0]),
    ],
)
def test_a_part_that_is_not_recorded_is_null(tmp_path: Path, more: Any, parts: Any) -> None:
    segment = {"total_size": 100, "allocated_size": 60} | more
    tables = memory.read(written(tmp_path, {"segments": [segment], "device_traces": []}))
    assert parts_of(tables, "default") == parts
    assert sum(part or 0 for part in parts) == 100


def test_bytes_asked_for_are_null_where_a_block_does_not_tell(tmp_path: Path) -> None:
    segment = of_blocks(0, (0, 0), block(512, None), block(512, 9))
    tables = memory.read(written(tmp_path, {"segments": [segment], "device_traces": []}))
    assert [row[3:] for row in tables["memory_live"].rows()] == [(2, 1024, None)]


sizes = st.integers(0, 1 << 40)
made_blocks = st.tuples(
    sizes, sizes, st.sampled_from(["active_allocated", "active_awaiting_free", "inactive"])
).map(lambda one: block(max(one[:2]), min(one[:2]), one[2], f"/x/{one[0] % 3}.py"))
made_segments = st.lists(
    st.tuples(st.integers(0, 3), st.lists(made_blocks, max_size=6), st.booleans()), max_size=8
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=made_segments)
def test_parts_sum_to_what_is_reserved_whatever_the_blocks(tmp_path: Path, made: Any) -> None:
    segments = [of_blocks(0, (0, pool), *blocks) for pool, blocks, _ in made]
    for segment, (_, _, bare) in zip(segments, made, strict=True):
        if bare:
            del segment["blocks"]
    tables = memory.read(written(tmp_path, {"segments": segments, "device_traces": []}))
    for pool, _, reserved, allocated in tables["memory_pools"].rows():
        live, rounding, awaiting, *free = parts_of(tables, pool)
        assert live + (rounding or 0) == allocated
        assert allocated + awaiting + sum(free) == reserved
        assert min(live, rounding or 0, awaiting, *free) >= 0
    whole = sum(one["allocated_size"] for one in segments if "blocks" in one)
    assert tables["memory_live"]["bytes"].sum() == whole


@pytest.mark.parametrize(
    "more",
    [
        {"allocated_size": 101},
        {"active_size": 101},
        {"active_size": 59},
        {"requested_size": 61},
        {"active_size": -1},
        {"requested_size": "1"},
        {"address": "x"},
        {"blocks": 3},
        {"blocks": [3]},
        {"blocks": [{"size": 1}]},
        {"blocks": [{"state": "inactive"}]},
        {"blocks": [{"size": -1, "state": "inactive"}]},
        {"blocks": [{"size": 2**63, "state": "active_allocated"}]},
        {"blocks": [{"size": 60, "state": "active_allocated", "stack": 0}]},
        {"is_expandable": "yes"},
    ],
)
def test_sizes_and_blocks_that_are_none_are_refused(tmp_path: Path, more: Any) -> None:
    snapshot = {
        "segments": [{"total_size": 100, "allocated_size": 60} | more],
        "device_traces": [],
    }
    for kind in ("json", "pickle"):
        with pytest.raises(CaptureError):
            memory.read(written(tmp_path, snapshot, kind))


def test_a_list_of_blocks_that_segments_share_is_not_multiplied(
    tmp_path: Path,
) -> None:
    shared = [block(0, 0)] * 100_000
    segment = {"total_size": 0, "allocated_size": 0, "blocks": shared}
    path = written(tmp_path, {"segments": [segment] * 100_000, "device_traces": []}, "pickle")
    assert path.stat().st_size < 1 << 20  # of 10¹⁰ blocks
    with pytest.raises(CaptureError, match="it repeats some of them"):
        memory.read(path)


def test_rows_and_texts_of_live_blocks_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = frames(*(f"/x/{'y' * 490}.py" for _ in range(20)))
    many = [block(512, 1, "active_allocated", f"/x/{n}.py") for n in range(20)]
    many[0]["frames"] = long
    snapshot = {"segments": [of_blocks(0, (0, 0), *many)], "device_traces": []}
    live = memory.read(written(tmp_path, snapshot))["memory_live"]
    assert live["stack"].str.len_chars().max() == 1000
    assert live["stack"].str.ends_with("…").sum() == 1
    monkeypatch.setattr(memory_read, "_MOST_STACKS", 19)
    with pytest.raises(CaptureError, match="more than 19 stacks"):
        memory.read(written(tmp_path, snapshot))


def test_a_stack_shows_six_frames_outside_torch(tmp_path: Path) -> None:
    lines = [TORCH, "/w/a.py", TORCH, *(f"/w/{n}.py" for n in range(9))]
    one = block(512, 1, "active_allocated", *lines)
    bare = block(512, 1, "active_allocated", TORCH, TORCH)
    snapshot = {"segments": [of_blocks(0, (0, 0), one, bare)], "device_traces": []}
    live = memory.read(written(tmp_path, snapshot))["memory_live"]
    stacks = live.sort("stack")["stack"].to_list()
    assert stacks[0] == "modules/module.py:1 f < modules/module.py:2 f"
    assert [part.split(":")[0] for part in stacks[1].split(" < ")] == [
        "w/a.py",
        *(f"w/{n}.py" for n in range(5)),
    ]
