"""Devices and conditions of a trace, wherever in the file they stand."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from harness.captures.torch import metadata, tables
from harness.captures.torch.events import TABLES
from harness.captures.torch.read import read
from harness.evidence.kinds import KINDS
from harness.evidence.tables import SCHEMAS
from harness.ground.errors import CaptureError
from tests.support.paths import DATA

KINETO = {"schemaVersion": 1, "with_stack": 1, "record_shapes": 1, "profile_memory": 0}
NVIDIA = {
    "deviceProperties": [
        {"id": 0, "name": "NVIDIA A100", "numSms": 108, "totalGlobalMem": 42297524224},
        {"id": 1, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "warpSize": 32},
    ],
    "cupti_version": 22,
    "cuda_runtime_version": 12040,
    "cuda_driver_version": 12090,
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
}
AMD = {
    "deviceProperties": [
        {"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "numSms": 304}
    ],
    "roctracer_version": 4.1,
    "hip_runtime_version": 60443483,
    "hip_driver_version": 60443483,
}


def kernel(device: int = 0, **args: int) -> dict[str, Any]:
    args = {"device": device} | args
    return {"cat": "kernel", "name": "k", "ts": 1, "dur": 1, "tid": 7, "args": args}


def written(folder: Path, events: list[Any], before: Any = None, after: Any = None) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps({**(before or {}), "traceEvents": events, **(after or {})}))
    return path


def conditions(path: Path) -> dict[str, str]:
    told = KINDS["torch"].conditions
    assert told is not None
    return told(path, read(path))


@pytest.mark.parametrize("name", ["streams", "graph", "memset_overlap"])
def test_a_real_trace_tells_what_the_json_module_finds_in_it(name: str) -> None:
    path = DATA / "torch" / f"{name}.json.gz"
    whole = json.loads(gzip.decompress(path.read_bytes()))
    gpu = whole["deviceProperties"][0]
    told = conditions(path)
    assert told["GPU"] == gpu["name"]
    assert told["CUDA"] == "13.0"
    assert told["profiler"] == f"torch.profiler (Kineto, CUPTI {whole['cupti_version']})"
    categories = Counter(event.get("cat") for event in whole["traceEvents"])
    unread = [category for category in categories if category and category not in TABLES]
    counted = dict(part.rsplit(" ", 1) for part in told["not read"].split(", "))
    assert counted.pop("events without a category") == str(categories[None])
    assert counted == {category: str(categories[category]) for category in unread}
    (row,) = read(path)["devices"].rows(named=True)
    assert row == dict.fromkeys(SCHEMAS["devices"]) | {
        "device": gpu["id"],
        "name": gpu["name"],
        "vendor": "NVIDIA",
        "compute_capability": f"{gpu['computeMajor']}.{gpu['computeMinor']}",
        "multiprocessors": gpu["numSms"],
        "memory_bytes": gpu["totalGlobalMem"],
    }


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (
            NVIDIA,
            {
                "GPU": "NVIDIA H100",  # the one that ran something
                "CUDA": "12.9",
                "CUDA runtime": "12.4",
                "profiler": "torch.profiler (Kineto, CUPTI 22)",
                "rank": "3 of 8",
            },
        ),
        (
            AMD,
            {
                "GPU": "AMD Instinct MI300X",
                "ROCm": "6.4 (HIP 6.4.43483)",
                "profiler": "torch.profiler (Kineto, roctracer 4.1)",
            },
        ),
    ],
)
def test_metadata_may_stand_on_either_side_of_the_events(
    tmp_path: Path, side: str, known: Any, expected: dict[str, str]
) -> None:
    path = written(tmp_path, [kernel(device=1)], **{side: KINETO | known})
    assert conditions(path) == expected | {"tracing": "shapes, Python stacks"}


def test_the_version_of_an_amd_gpu_is_no_compute_capability(tmp_path: Path) -> None:
    rows = read(written(tmp_path, [kernel()], after=NVIDIA | AMD))["devices"].rows(named=True)
    found = [(row["vendor"], row["compute_capability"], row["multiprocessors"]) for row in rows]
    assert found == [("AMD", None, 304)]


def test_the_nodes_of_graphs_show_how_graphs_were_traced(tmp_path: Path) -> None:
    path = written(tmp_path, [kernel(**{"graph node id": 3})])
    assert conditions(path) == {"tracing": "CUDA graphs by node"}


ODD: dict[str, Any] = {
    "nothing": {},
    "no list": {"deviceProperties": {"name": "NVIDIA A100"}},
    "no objects": {"deviceProperties": [5, None, "NVIDIA A100"]},
    "other types": {
        "deviceProperties": [{"id": "0", "name": 5, "numSms": 1.5, "totalGlobalMem": -1}],
        "cuda_driver_version": "12040",
        "hip_runtime_version": True,
        "distributedInfo": [3],
        "with_stack": {},
    },
    "names that are no names": {"deviceProperties": [{"name": "a\x1b[31m"}, {"name": "A" * 500}]},
    "numbers too large": {"cuda_driver_version": 2**70, "distributedInfo": {"rank": 2**70}},
}


@pytest.mark.parametrize("known", ODD.values(), ids=ODD)
def test_what_a_trace_does_not_tell_is_not_there(tmp_path: Path, known: Any) -> None:
    path = written(tmp_path, [kernel()], after=known)
    assert conditions(path) == {}
    assert all(value is None for row in read(path)["devices"].rows() for value in row)


def test_a_list_of_events_has_no_metadata(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps([kernel(), {"cat": "ac2g"}]))
    assert conditions(tmp_path / "list.json") == {"not read": "ac2g 1"}


def test_categories_without_end_are_counted_together(tmp_path: Path) -> None:
    events = [kernel(), *({"cat": f"c{i}"} for i in range(9)), {"cat": "\x1b[2J"}]
    with patch.object(tables, "_MOST_CATEGORIES", 2):
        told = conditions(written(tmp_path, events))
    assert told == {"not read": "other categories 8, c0 1, c1 1"}


@pytest.mark.parametrize("key", ["trace_id", "deviceProperties", "cuda_driver_version"])
def test_a_number_that_is_none_beside_the_events_is_refused(key: str) -> None:
    document = b'{"traceEvents": [], "%b": [{"id": 1e999}]}' % key.encode()
    with pytest.raises(CaptureError, match=r"^beside the events: number out of range$"):
        metadata.around(document)
