"""Memory snapshots: by hand, against the allocator's own totals, and hostile."""

import gzip
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures import sniff
from harness.captures.memory import read as memory
from harness.captures.memory import snapshot as memory_snapshot
from harness.ground.errors import CaptureError
from tests.support.paths import DATA

DATA = DATA / "memory"
TORCH = "/v/lib/python3.12/site-packages/torch/nn/modules/module.py"


def written(tmp_path: Path, snapshot: Any) -> Path:
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(snapshot))
    return path


def event(action: str, size: int, time_us: int, address: int = 0, site: str = "") -> dict[str, Any]:
    frames = [{"filename": f"/home/u/{site}", "line": 7, "name": "f"}] if site else []
    return {"action": action, "size": size, "addr": address, "time_us": time_us, "frames": frames}


def segment(total: int, allocated: int, **more: Any) -> dict[str, Any]:
    return {"device": 0, "total_size": total, "allocated_size": allocated, **more}


def holding(history: list[dict[str, Any]], *segments: dict[str, Any]) -> dict[str, Any]:
    return {"segments": list(segments), "device_traces": [history]}


HISTORY = [
    event("segment_alloc", 100, 10),
    event("alloc", 60, 11, address=1, site="model/a.py"),
    event("alloc", 30, 12, address=2, site="model/b.py"),
    event("free_requested", 30, 13, address=2),
    event("free_completed", 30, 14, address=2),
    event("alloc", 40, 15, address=3, site="model/b.py"),
    event("oom", 500, 16),
    event("segment_map", 20, 17),
    event("segment_unmap", 10, 18),
]
SNAPSHOT = {
    **holding(
        HISTORY,
        segment(100, 100, segment_pool_id=[0, 0]),
        segment(50, 8, segment_pool_id=[0, 1]),
    ),
    "phases": [{"name": "load", "time_us": 11}, {"name": "run", "time_us": 15}],
}


def test_pools_are_summed_apart(tmp_path: Path) -> None:
    pools = memory.read(written(tmp_path, SNAPSHOT))["memory_pools"]
    assert pools.rows() == [("default", 1, 100, 100), ("graph pool (0, 1)", 1, 50, 8)]


def test_a_segment_without_a_pool_is_of_the_default_one(tmp_path: Path) -> None:
    found = memory.read(written(tmp_path, holding([], segment(4, 2), segment(8, 8))))
    assert found["memory_pools"].rows() == [("default", 2, 12, 10)]


def test_the_history_is_worked_back_from_the_end(tmp_path: Path) -> None:
    rows = memory.read(written(tmp_path, SNAPSHOT))["memory_timeline"]
    # 108 allocated and 150 reserved at the end; 8 and 40 of them stood before the history began.
    assert rows["allocated_bytes"].to_list() == [8, 68, 98, 98, 68, 108, 108, 108, 108]
    assert rows["reserved_bytes"].to_list() == [140] * 7 + [160, 150]
    assert rows["time_ns"].to_list() == [1000 * time for time in range(10, 19)]
    assert rows["phase"].cast(pl.String).to_list() == [None] + ["load"] * 4 + ["run"] * 4


def test_sites_count_what_they_asked_for_and_what_lived_at_the_peak(tmp_path: Path) -> None:
    sites = memory.read(written(tmp_path, SNAPSHOT))["memory_sites"].sort("phase", "site")
    assert sites.rows() == [
        ("load", "model/a.py:7 f", 1, 60, 60),
        ("load", "model/b.py:7 f", 1, 30, 30),
        ("run", "model/a.py:7 f", 0, 0, 60),
        ("run", "model/b.py:7 f", 1, 40, 40),
    ]


def test_blocks_of_torchs_allocator_count_in_steps_of_512_bytes(tmp_path: Path) -> None:
    history = [event("alloc", 1, 1, address=1), event("alloc", 513, 2, address=2)]
    snapshot = holding(history, segment(2048, 1536, segment_type="small"))
    rows = memory.read(written(tmp_path, snapshot))["memory_timeline"]
    assert rows["allocated_bytes"].to_list() == [512, 1536]


def test_the_device_that_reserved_most_is_read(tmp_path: Path) -> None:
    snapshot = {
        "segments": [segment(10, 0), segment(30, 5, device=1), segment(15, 0)],
        "device_traces": [[event("alloc", 9, 1)], [event("alloc", 5, 1)]],
    }
    tables = memory.read(written(tmp_path, snapshot))
    assert tables["memory_pools"].rows() == [("default", 1, 30, 5)]
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == [5]
    assert tables["memory_devices"].rows() == [(0, 2, 25, 0, 1), (1, 1, 30, 5, 1)]


def test_events_without_time_alloc_or_free_are_kept(tmp_path: Path) -> None:
    odd = [
        {"action": "snapshot", "size": 0},
        event("free_completed", 7, 1, address=9),
        event("alloc", 3, 2, address=4),
        event("alloc", 5, 3, address=4),
    ]
    tables = memory.read(written(tmp_path, holding(odd, segment(20, 8))))
    assert tables["memory_timeline"]["time_ns"].to_list() == [None, 1000, 2000, 3000]
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == [7, 0, 3, 8]
    # The second block at one address has replaced the first, whose release was lost.
    assert tables["memory_sites"].rows() == [(None, "unknown (no stack recorded)", 2, 8, 5)]


@pytest.mark.parametrize(
    ("frames", "site"),
    [
        ([], "unknown (no stack recorded)"),
        (None, "unknown (no stack recorded)"),
        ("text", "unknown (no stack recorded)"),
        ([(TORCH, 1, "to"), ("/w/model.py", 2, "run")], "w/model.py:2 run"),
        ([("/x/torch/mine.py", 3, "f")], "torch/mine.py:3 f"),
        ([("/v/site-packages/torchao/q.py", 1, "q"), (TORCH, 2, "to")], "torchao/q.py:1 q"),
        ([("a.cpp", 1, "alloc()"), ("x/y/z.py", 4, "g")], "y/z.py:4 g"),
        ([("a.cpp", 1, "alloc()")], "a.cpp:1 alloc()"),
        (
            [
                ("??", 0, "torch::CapturedTraceback::gather(bool, bool, bool)"),
                (
                    "??",
                    0,
                    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc()",
                ),
                ("x.cpp", 7, "at::detail::empty_cuda()"),
            ],
            "x.cpp:7 at::detail::empty_cuda()",
        ),
        (
            [
                ("memory_snapshot.cpp", 0, "torch::cuda::(anonymous namespace)::gather_with_cpp()"),
                ("??", 0, "at::detail::empty_cuda(c10::ArrayRef<long>)"),
            ],
            "??:0 at::detail::empty_cuda(c10::ArrayRef<long>)",
        ),
        (
            [
                ("??", 0, "at::detail::empty_cuda(c10::ArrayRef<long>)"),
                ("??", 0, "at::_ops::bmm::call(at::Tensor const&, at::Tensor const&)"),
                ("??", 0, "torch::autograd::generated::BmmBackward0::apply(std::vector<>&&)"),
            ],
            "torch::autograd::generated::BmmBackward0::apply",
        ),
        (
            [("??", 0, "at::native::empty()"), ("??", 0, "at::_ops::bmm::call(at::Tensor const&)")],
            "at::_ops::bmm::call",
        ),
        ([(None, None, None)], "?:? ?"),
        ([(f"/i/ag/cag{'4' * 49}.py", 49, "part")], "Inductor's code:49 part"),
        ([(f"/i/xx/cag{'4' * 49}.py", 49, "part")], f"xx/cag{'4' * 49}.py:49 part"),
    ],
)
def test_a_site_is_the_innermost_python_line_outside_torch(
    tmp_path: Path, frames: Any, site: str
) -> None:
    if isinstance(frames, list):
        frames = [dict(zip(("filename", "line", "name"), part, strict=True)) for part in frames]
    snapshot = holding([event("alloc", 1, 1) | {"frames": frames}], segment(1, 1))
    as_pickle = tmp_path / "memory.pickle"
    as_pickle.write_bytes(pickle.dumps(snapshot))
    for path in (written(tmp_path, snapshot), as_pickle):
        assert memory.read(path)["memory_sites"]["site"].to_list() == [site]


def test_a_real_snapshot_agrees_with_the_allocator() -> None:
    told = json.loads((DATA / "graph.json").read_text())
    with sniff.opened(DATA / "graph.pickle.zst") as plain:
        tables = memory.read(plain)
    pools, timeline = tables["memory_pools"], tables["memory_timeline"]
    assert pools["allocated_bytes"].sum() == told["allocated"]
    assert pools["reserved_bytes"].sum() == told["reserved"]
    assert timeline["allocated_bytes"].max() == told["peak_allocated"]
    assert timeline["allocated_bytes"][0] == 0  # this history has its start
    assert pools.height > 1  # the graph's private pool is not the default one


def test_the_probes_json_agrees_with_the_allocator_and_with_the_count_of_weights() -> None:
    path = DATA / "stack_013_eager.json.gz"
    tables = memory.read(path)
    rows = tables["memory_timeline"].with_columns(pl.col("phase").cast(pl.String))
    forward = rows.filter(pl.col("phase") == "forward")["allocated_bytes"]
    # torch.cuda.max_memory_allocated() over the forward, as the process itself read it.
    highest: Any = forward.max()
    lowest: Any = forward.min()
    assert highest == 402817536
    # One linear of torchao 0.13.0 holds 14 bytes a weight for a moment.
    assert highest - lowest == pytest.approx(14 * 4096 * 4096, rel=1e-3)
    # The sites against the history, counted without them.
    history = json.loads(gzip.decompress(path.read_bytes()))["device_traces"][0]
    asked = sum(event["size"] for event in history if event["action"] == "alloc")
    sites = tables["memory_sites"]
    assert (sites["bytes"].sum(), sites["count"].sum()) == (
        asked,
        Counter(event["action"] for event in history)["alloc"],
    )
    assert not sites["site"].str.contains("torch/").any()
    at_peak = sites.filter(pl.col("phase") == "forward")["peak_bytes"].sum()
    assert 402817536 - 512 * 656 < at_peak <= 402817536


MARK = {"phase": "x", "time_us": 1, "used_bytes": 9, "reserved_bytes": 4, "allocated_bytes": 1}
SIZED: dict[str, Any] = {"total_size": 4, "allocated_size": 0}
NO_SNAPSHOT: list[Any] = [
    [],
    {},
    {"segments": []},
    {"device_traces": []},
    {"segments": [], "device_traces": {}},
    {"segments": [3], "device_traces": []},
    {"segments": [{"total_size": 4}], "device_traces": []},
    *({"segments": [SIZED | {"total_size": bad}], "device_traces": []} for bad in (-1, 2**63, "4")),
    {"segments": [SIZED | {"device": -1}], "device_traces": []},
    {"segments": [SIZED | {"segment_pool_id": "ab"}], "device_traces": []},
    {"segments": [SIZED | {"total_size": 2**62}] * 3, "device_traces": []},
    {"segments": [], "device_traces": [[{"size": 1}]]},
    {"segments": [], "device_traces": [[{"action": "alloc"}]]},
    {"segments": [], "device_traces": [[{"action": "alloc", "size": 1, "time_us": 1e300}]]},
    {"segments": [], "device_traces": [[{"action": "alloc", "size": 1, "addr": 1}]]},
    {"segments": [], "device_traces": [[]], "phases": 3},
    {"segments": [], "device_traces": [[]], "phases": [{"name": "x"}]},
    {"segments": [], "device_traces": [[]], "phases": [{"time_us": 1}]},
    {"segments": [], "device_traces": [[]], "marks": 3},
    {"segments": [], "device_traces": [[]], "marks": [{"phase": "x", "time_us": 1}]},
    *(
        {"segments": [], "device_traces": [[]], "marks": [MARK | wrong]}
        for wrong in (
            {"used_bytes": -1},
            {"segments": 3},
            {"segments": [3]},
            {"segments": [{"total_size": 4}]},
            {"segments": [SIZED | {"segment_pool_id": 1}]},
            {"segments": [SIZED | {"total_size": -1}]},
            {"segments": [SIZED | {"allocated_size": 5}]},
            {"segments": [SIZED | {"requested_size": 1}]},
            {"segments": [SIZED | {"total_size": 2**62}] * 3},
        )
    ),
    {"segments": [], "device_traces": [[]], "stacks": 3},
]


def test_marks_say_what_is_outside_of_the_allocator(tmp_path: Path) -> None:
    marks = [MARK | {"phase": "y", "time_us": 2}, MARK]
    tables = memory.read(written(tmp_path, {**holding([]), "marks": marks}))
    assert tables["memory_marks"].rows() == [(0, "x", 1000, 9, 4, 1, 5), (1, "y", 2000, 9, 4, 1, 5)]
    assert tables["memory_mark_parts"].is_empty()


def test_marks_say_what_each_pool_is(tmp_path: Path) -> None:
    used = segment(100, 60, active_size=60, requested_size=50)
    unused = segment(40, 0, active_size=0, segment_pool_id=[0, 1])
    of_another = segment(7, 7, device=1)
    marks = [
        MARK | {"segments": [used, unused, used, of_another]},
        MARK | {"phase": "y", "segments": [segment(9, 1)]},
    ]
    tables = memory.read(written(tmp_path, {**holding([], segment(9, 1)), "marks": marks}))
    parts = ("live", "rounding", "awaiting free", "free in used segments", "free segments")
    assert tables["memory_mark_parts"].rows() == [
        *((0, "default", *row) for row in zip(parts, (100, 20, 0, 80, 0), strict=True)),
        *((0, "graph pool (0, 1)", *row) for row in zip(parts, (0, 0, 0, 0, 40), strict=True)),
        *((1, "default", *row) for row in zip(parts, (1, None, None, 8, 0), strict=True)),
    ]


def test_sizes_are_rounded_where_only_a_mark_tells_that_it_is_a_gpu(tmp_path: Path) -> None:
    history = [event("alloc", 1, 1, address=1), event("free_completed", 1, 2, address=1)]
    marks = [MARK | {"segments": []}, MARK | {"segments": [segment(4, 0, segment_type="small")]}]
    tables = memory.read(written(tmp_path, {**holding(history), "marks": marks}))
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == [512, 0]


def test_a_list_of_segments_that_marks_share_is_not_multiplied(
    tmp_path: Path,
) -> None:
    mark = MARK | {"segments": [segment(0, 0)] * 100_000}
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps({**holding([]), "marks": [mark] * 100_000}))
    assert path.stat().st_size < 1 << 20  # of 10¹⁰ segments
    with pytest.raises(CaptureError, match="it repeats some of them"):
        memory.read(path)


@pytest.mark.parametrize("snapshot", NO_SNAPSHOT)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, snapshot: Any) -> None:
    as_pickle = tmp_path / "memory.pickle"
    as_pickle.write_bytes(pickle.dumps(snapshot))
    for path in (written(tmp_path, snapshot), as_pickle):
        with pytest.raises(CaptureError):
            memory.read(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"segments": [], "device_traces": [], "x": NaN}',
        b'{"segments": [], "device_traces": []} {}',
        b'{"segments": [{"total_size": 1' + b"0" * 5000 + b', "allocated_size": 1}]}',
        b'{"segments": [{"total_size": 1, "allocated_size": 1}], "device_traces": [[{"action":'
        b' "alloc", "size": 1, "frames": [{"filename": "\xff"}]}]]}',
    ],
)
def test_damaged_json_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "memory.json"
    path.write_bytes(text)
    with pytest.raises(CaptureError):
        memory.read(path)


def test_a_cut_missing_or_overlong_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cut.json.gz"
    whole = gzip.compress(json.dumps(SNAPSHOT).encode())
    for cut in (1, 10, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:cut])
        with pytest.raises(CaptureError):
            memory.read(path)
    with pytest.raises(CaptureError, match="no such file"):
        memory.read(tmp_path / "none.json")
    monkeypatch.setattr(memory_snapshot, "_MOST_BYTES", 1 << 20)
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(CaptureError, match="more than 1048576 bytes"):
        memory.read(path)


def test_a_stack_that_is_shared_is_walked_once(tmp_path: Path) -> None:
    stack = [{"filename": TORCH, "line": 1, "name": "f"}] * 20_000
    history = [{"action": "alloc", "size": 0, "frames": stack}] * 20_000
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps(holding(history, segment(1, 0))))
    assert path.stat().st_size < 200_000  # of 4 · 10⁸ frames when walked through
    assert memory.read(path)["memory_sites"]["count"].to_list() == [20_000]


def test_phases_times_sites_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST_ROWS", 1000)
    history = [event("alloc", 1, n, address=n, site=f"m/{n}.py") for n in range(100)]
    snapshot = holding(history, segment(100, 100))
    snapshot["phases"] = [{"name": str(n), "time_us": n} for n in range(100)]
    with pytest.raises(CaptureError, match="more than 1000 sites and phases"):
        memory.read(written(tmp_path, snapshot))


actions = st.sampled_from(["alloc", "free_requested", "free_completed", "segment_alloc", "oom"])
entries = st.tuples(actions, st.integers(0, 3000), st.integers(0, 5), st.integers(0, 20))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(entries), base=st.integers(0, 100))
def test_the_timeline_replays_any_history(tmp_path: Path, made: list[Any], base: int) -> None:
    """Forward from a known start, as the reader does not do it."""
    level = base + sum(size for action, size, *_ in made if action == "free_completed")
    told = []
    history = []
    for action, size, address, time_us in made:
        level += {"alloc": size, "free_completed": -size}.get(action, 0)
        told.append(level)
        history.append(event(action, size, time_us, address))
    total = sum(size for action, size, *_ in made if action == "segment_alloc")
    tables = memory.read(written(tmp_path, holding(history, segment(total + level, level))))
    assert tables["memory_timeline"]["allocated_bytes"].to_list() == told
    asked = sum(size for action, size, *_ in made if action == "alloc")
    assert tables["memory_sites"]["bytes"].sum() == asked


@pytest.mark.parametrize("device", [-1, 1024, 10**400])
def test_a_device_that_no_machine_has_is_refused(tmp_path: Path, device: int) -> None:
    path = written(tmp_path, holding([], segment(100, 60) | {"device": device}))
    with pytest.raises(CaptureError, match="device"):
        memory.read(path)


@pytest.mark.parametrize("key", ["filename", "name", "action", "phase"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_a_lone_surrogate_in_a_pickle_is_read_as_another_character(
    tmp_path: Path, key: str, protocol: int
) -> None:
    history = [event("alloc", 512, 1, site="a.py"), event("free_completed", 512, 2)]
    snapshot = holding(history, segment(1024, 0)) | {"phases": [{"name": "p", "time_us": 0}]}
    frame = history[0]["frames"][0]
    holder, place = {
        "action": (history[0], "action"),
        "phase": (snapshot["phases"][0], "name"),
    }.get(key, (frame, key))
    holder[place] += "\ud800"
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol))
    tables = memory.read(path)
    texts = [str(value) for table in tables.values() for row in table.rows() for value in row]
    assert any("?" in text for text in texts)
    assert "".join(texts).encode()


def test_a_lone_surrogate_in_json_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, holding([event("alloc\ud800", 512, 1)], segment(1024, 512)))
    with pytest.raises(CaptureError, match="not a memory snapshot: JSON is malformed"):
        memory.read(path)


def test_a_key_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps(holding([], segment(1024, 512)) | {"\ud800": 1}, 4))
    with pytest.raises(CaptureError, match="not a memory snapshot: a name in it is no text"):
        memory.read(path)
