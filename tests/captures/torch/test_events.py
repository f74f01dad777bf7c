"""Events that cannot be: each is told with its place; those at the bounds are read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.captures.torch.read import read
from harness.ground.errors import CaptureError

KERNEL: dict[str, Any] = {"cat": "kernel", "name": "k", "ts": 10, "dur": 2, "args": {"device": 0}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ts": -5}, "impossible 'ts' -5.0 in a 'kernel' event"),
        ({"ts": 2**52 + 1}, "impossible 'ts' 4503599627370497.0 in a 'kernel' event"),
        ({"dur": 2**43 + 1}, "impossible 'dur' 8796093022209.0 in a 'kernel' event"),
        ({"ts": None}, "no 'ts' in a 'kernel' event"),
        ({"dur": None}, "no 'dur' in a 'kernel' event"),
        ({"name": None}, "no 'name' in a 'kernel' event"),
        ({"name": 5}, "Expected `str | null`, got `int` - at `$.name`"),
        ({"cat": "user_annotation", "ts": None}, "no 'ts' in a 'user_annotation' event"),
        ({"cat": "cpu_op", "dur": None}, "no 'dur' in a 'cpu_op' event"),
    ],
)
def test_a_bad_event_is_told_with_its_offset(tmp_path: Path, changes: Any, told: str) -> None:
    text = json.dumps([{"cat": "ac2g"}, KERNEL, KERNEL | changes])
    path = tmp_path / "trace.json"
    path.write_text(text)
    offset = text.rindex("{", 0, text.rindex("args"))
    with pytest.raises(CaptureError, match=re.escape(f"byte {offset}: {told}") + "$"):
        read(path)


@pytest.mark.parametrize("changes", [{"ts": 0}, {"ts": 2**52}, {"dur": 0}, {"dur": 2**43}])
def test_the_least_and_greatest_times_are_read(tmp_path: Path, changes: Any) -> None:
    event = KERNEL | changes
    (tmp_path / "one.json").write_text(json.dumps([event]))
    found = read(tmp_path / "one.json")["gpu_ops"].select("start_ns", "duration_ns")
    assert found.rows() == [(event["ts"] * 1000, event["dur"] * 1000)]
