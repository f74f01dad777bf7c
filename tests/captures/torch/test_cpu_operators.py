"""Operators that compute on the CPU: those in which no call into CUDA begins."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.captures.torch.read import read

Row = dict[str, Any]


def operator(name: str, start: int, duration: int, tid: int = 1) -> Row:
    return {"cat": "cpu_op", "name": name, "tid": tid, "ts": start, "dur": duration}


def call(start: int, tid: int = 1) -> Row:
    row = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": tid, "ts": start, "dur": 5}
    return row | {"args": {"correlation": start}}


@pytest.mark.parametrize(
    ("events", "named"),
    [
        pytest.param([operator("aten::sort", 0, 100)], ["aten::sort"], id="alone"),
        pytest.param([operator("aten::view", 0, 19)], [], id="short"),
        pytest.param([operator("aten::mm", 0, 100), call(50)], [], id="it launches"),
        pytest.param([operator("aten::sort", 0, 100), call(100)], ["aten::sort"], id="then"),
        pytest.param(
            [operator("aten::sort", 0, 100), call(50, tid=2)], ["aten::sort"], id="another thread"
        ),
        pytest.param(
            [operator("aten::embedding_bag", 0, 100), operator("aten::_embedding_bag", 1, 98)],
            ["aten::embedding_bag"],
            id="the outer one",
        ),
        pytest.param(
            [operator("aten::linear", 0, 100), operator("aten::t", 10, 40), call(60)],
            ["aten::t"],
            id="inside one that launches",
        ),
        pytest.param(
            [operator("a", 0, 100), operator("b", 50, 40, tid=2), operator("c", 100, 50)],
            ["a", "b", "c"],
            id="one after another, and beside",
        ),
        pytest.param(
            [operator("compile_fx (dynamo_timed)", 0, 100)], [], id="a phase of compilation"
        ),
    ],
)
def test_an_operator_is_on_the_cpu_if_it_asks_nothing_of_the_gpu(
    events: list[Row], named: list[str], tmp_path: Path
) -> None:
    (tmp_path / "trace.json").write_text(json.dumps([*events, call(1000)]))
    found = read(tmp_path / "trace.json")["cpu_operators"]
    assert sorted(found["name"].to_list()) == named
    durations = {row["name"]: row["dur"] * 1000 for row in events}
    assert all(durations[name] == ns for name, ns in found.select("name", "duration_ns").rows())
