"""What the probe writes of a snapshot, against torch's own pickle of the same."""

import gzip
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.captures import sniff
from harness.captures.formats import pickle_guard
from harness.captures.formats.compressed import blocks
from harness.captures.memory import read as memory
from tests.support.paths import DATA

PICKLE = DATA / "memory/graph.pickle.zst"
TOLD = json.loads(PICKLE.with_name("graph.json").read_text())


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The probe's module over a torch that gives a real GPU's snapshot."""
    snapshot = pickle_guard.load(b"".join(blocks(PICKLE, 1 << 20)), PICKLE)
    stats = {f"{name}_bytes.all.current": TOLD[name] for name in ("allocated", "reserved")}
    cuda = SimpleNamespace(
        synchronize=lambda: None,
        current_device=lambda: 0,
        mem_get_info=lambda: (100 << 30, 140 << 30),
        memory_stats=lambda: stats,
        memory_reserved=lambda: TOLD["reserved"],
        memory_allocated=lambda: TOLD["allocated"],
        memory_snapshot=lambda include_traces: [] if include_traces else snapshot["segments"],
        memory=SimpleNamespace(_snapshot=lambda: snapshot),
    )
    torch = ModuleType("torch")
    vars(torch)["cuda"] = cuda
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "harness.probe.memory", raising=False)
    yield importlib.import_module("harness.probe.memory")
    sys.modules.pop("harness.probe.memory", None)  # it holds the torch that was not one


def test_the_json_holds_what_the_pickle_does(probe: Any, tmp_path: Path) -> None:
    path = tmp_path / "memory.json.gz"
    begin = min(
        event["time_us"] for event in probe.torch.cuda.memory._snapshot()["device_traces"][0]
    )
    probe.mark("load", "cuda")
    probe.finish(path, "cuda", [{"name": "load", "time_us": begin}])
    assert sniff.recognised(path)[0].name == "memory"
    written = memory.read(path)
    with sniff.opened(PICKLE) as plain:
        own = memory.read(plain)
    for table in ("memory_pools", "memory_parts", "memory_live", "memory_pool_peaks"):
        assert written[table].equals(own[table]), table
    for table in ("memory_by_pool", "memory_timeline", "memory_sites"):
        same = [name for name in own[table].columns if name not in ("phase", "pool")]
        assert written[table].select(same).equals(own[table].select(same)), table
    assert written["memory_timeline"]["phase"].null_count() == 0


def test_a_mark_holds_what_driver_and_allocator_say(probe: Any, tmp_path: Path) -> None:
    path = tmp_path / "memory.json.gz"
    for phase in ("load", "run"):
        probe.mark(phase, "cuda")
    probe.finish(path, "cuda", [])
    tables = memory.read(path)
    marks = tables["memory_marks"]
    assert marks["phase"].to_list() == ["load", "run"]
    assert marks["time_ns"].is_sorted()
    allocated, reserved = TOLD["allocated"], TOLD["reserved"]
    assert [row[3:] for row in marks.rows()] == [
        (40 << 30, reserved, allocated, (40 << 30) - reserved)
    ] * 2
    parts = tables["memory_mark_parts"]
    assert tables["memory_parts"]["bytes"].sum() == reserved
    for index in (0, 1):
        assert parts.filter(parts["index"] == index).drop("index").equals(tables["memory_parts"])
    segments = json.loads(gzip.decompress(path.read_bytes()))["marks"][1]["segments"]
    assert all({"address", "segment_pool_id", "is_expandable"} <= one.keys() for one in segments)
    assert not any({"blocks", "frames"} & one.keys() for one in segments)


def test_a_cpu_has_no_marks(probe: Any) -> None:
    probe.mark("load", "cpu")
    assert probe._marks == []
