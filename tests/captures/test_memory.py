"""Memory snapshots: by hand, against the allocator's own totals, and hostile."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.captures import memory, pickle_guard, sniff
from harness.errors import CaptureError

DATA = Path(__file__).parents[1] / "data" / "memory"


def written(tmp_path: Path, snapshot: Any) -> Path:
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(snapshot))
    return path


def event(action: str, size: int, time_us: int, address: int = 0, site: str = "") -> dict[str, Any]:
    frames = [{"filename": f"/home/u/{site}", "line": 7, "name": "f"}] if site else []
    return {"action": action, "size": size, "addr": address, "time_us": time_us, "frames": frames}


HISTORY = [
    event("segment_alloc", 100, 10),
    event("alloc", 60, 11, address=1, site="model/a.py"),
    event("alloc", 30, 12, address=2, site="model/b.py"),
    event("free_requested", 30, 13, address=2),
    event("free_completed", 30, 14, address=2),
    event("alloc", 40, 15, address=3, site="model/b.py"),
]
SNAPSHOT = {
    "segments": [
        {"device": 0, "total_size": 100, "allocated_size": 100, "segment_pool_id": [0, 0]},
        {"device": 0, "total_size": 50, "allocated_size": 8, "segment_pool_id": [0, 1]},
    ],
    "device_traces": [HISTORY],
    "phases": [{"name": "load", "time_us": 10}, {"name": "run", "time_us": 15}],
}


def test_pools_are_summed_apart(tmp_path: Path) -> None:
    pools = memory.read(written(tmp_path, SNAPSHOT))["memory_pools"]
    assert pools.rows() == [("default", 1, 100, 100), ("graph pool (0, 1)", 1, 50, 8)]


def test_the_history_is_worked_back_from_the_end(tmp_path: Path) -> None:
    rows = memory.read(written(tmp_path, SNAPSHOT))["memory_timeline"]
    # 108 at the end; 8 of them stood before the history began.
    assert rows["allocated_bytes"].to_list() == [8, 68, 98, 98, 68, 108]
    assert rows["reserved_bytes"].to_list() == [150] * 6
    assert rows["phase"].cast(pl.String).to_list() == ["load"] * 5 + ["run"]


def test_sites_count_what_they_asked_for_and_what_lived_at_the_peak(tmp_path: Path) -> None:
    sites = memory.read(written(tmp_path, SNAPSHOT))["memory_sites"].sort("phase", "site")
    assert sites.rows() == [
        ("load", "model/a.py:7 f", 1, 60, 60),
        ("load", "model/b.py:7 f", 1, 30, 30),
        ("run", "model/a.py:7 f", 0, 0, 60),
        ("run", "model/b.py:7 f", 1, 40, 40),
    ]


def test_a_real_snapshot_agrees_with_the_allocator() -> None:
    told = json.loads((DATA / "graph.json").read_text())
    with sniff.opened(DATA / "graph.pickle.zst") as plain:
        tables = memory.read(plain)
    pools = tables["memory_pools"]
    assert pools["allocated_bytes"].sum() == told["allocated"]
    assert pools["reserved_bytes"].sum() == told["reserved"]
    # An event holds the size that was asked for; the allocator counts it rounded up to 512 bytes.
    peak = tables["memory_timeline"]["allocated_bytes"].max()
    assert told["peak_allocated"] - 10 * 512 < peak <= told["peak_allocated"]
    assert pools.height > 1  # the graph's private pool is not the default one


def test_one_linear_of_torchao_0_13_0_takes_fourteen_bytes_a_weight() -> None:
    rows = memory.read(DATA / "stack_013_eager.json.gz")["memory_timeline"]
    inside = rows.filter(pl.col("phase").cast(pl.String) == "forward")["allocated_bytes"]
    assert inside.max() - inside.min() == pytest.approx(14 * 4096 * 4096, rel=1e-3)


@pytest.mark.parametrize(
    "snapshot",
    [
        [],
        {},
        {"segments": []},
        {"segments": [], "device_traces": {}},
        {"segments": [3], "device_traces": []},
        {"segments": [{"total_size": -1, "allocated_size": 0}], "device_traces": []},
        {"segments": [{"total_size": 2**63, "allocated_size": 0}], "device_traces": []},
        {"segments": [{"total_size": "4", "allocated_size": 0}], "device_traces": []},
        {"segments": [], "device_traces": [[{"size": 1}]]},
        {"segments": [], "device_traces": [[]], "phases": 3},
        {"segments": [], "device_traces": [[]], "phases": [{"name": "x"}]},
    ],
)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, snapshot: Any) -> None:
    with pytest.raises(CaptureError):
        memory.read(written(tmp_path, snapshot))


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(SNAPSHOT).encode())
    for cut in (10, len(whole) // 2, len(whole) - 4):
        path = tmp_path / "cut.json.gz"
        path.write_bytes(whole[:cut])
        with pytest.raises(CaptureError):
            memory.read(path)


class Runs:
    """An object whose unpickling would write a file."""

    def __init__(self, code: tuple[Any, ...]) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return self.code


def hostile(sentinel: str) -> list[bytes]:
    touch = (open, (sentinel, "w"))
    made = [pickle.dumps(Runs(touch), protocol) for protocol in range(6)]
    made += [pickle.dumps({"segments": [Runs(touch)]}, protocol) for protocol in (0, 2, 4)]
    name = sentinel.encode()
    made += [
        b"cos\nsystem\n(S'touch " + name + b"'\ntR.",
        b"(S'touch " + name + b"'\nios\nsystem\n.",
        b"(cos\nsystem\nS'touch " + name + b"'\no.",
        b"\x80\x02cbuiltins\nopen\nX\x01\x00\x00\x00a\x85\x81.",
        b"\x80\x02\x82\x01.",
        b"Ptouch\n.",
        b"\x80\x04N}b.",
        b"\x80\x02Nr\xff\xff\xff\x7f.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x04" + b"(" * 1000,
        b"\x80\x04N",
        b"\x80\x04X\x02\x00\x00\x00\xff\xfe.",
    ]
    return made


def test_a_hostile_pickle_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    sentinel = tmp_path / "was-run"
    for number, content in enumerate(hostile(str(sentinel))):
        path = tmp_path / f"{number}.pickle"
        path.write_bytes(content)
        with pytest.raises(CaptureError):
            pickle_guard.load(path)
        assert not sentinel.exists(), content


def test_plain_data_comes_through_the_guard_whole(tmp_path: Path) -> None:
    data = {"a": [1, 2.5, None, True, "é", b"raw", (1, 2, 3, 4)], 7: {"b": 2**70}}
    for protocol in range(6):
        path = tmp_path / "plain.pickle"
        values = data if protocol > 2 else {"a": [1, 2.5, None, "é", (1, 2)], 7: {"b": 2**70}}
        path.write_bytes(pickle.dumps(values, protocol))
        assert pickle_guard.load(path) == values
