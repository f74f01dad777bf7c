"""What a healthy step is told of its floor, by a trace made by hand and changes of it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import HEALTHY, Finding
from harness.captures.torch.read import read
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty
from tests.support.paths import DATA

STEP = DATA / "torch" / "mi300x_step.json.gz"
Change = Callable[[dict[str, Any]], None]


def healthy(folder: Path, *changes: Change) -> Finding:
    """Return the finding on the trace of which every event was changed."""
    document = json.loads(gzip.decompress(STEP.read_bytes()))
    for event in document["traceEvents"]:
        for change in changes:
            change(event)
    path = folder / "trace.json"
    path.write_text(json.dumps(document))
    tables = {name: empty(name) for name in SCHEMAS} | read(path)
    first = conclude.diagnose([Capture("trace.json", tables, {}, "torch")]).findings[0]
    assert first.id == HEALTHY
    return first


def told(finding: Finding) -> dict[str, float]:
    return {each.metric: each.value for each in finding.evidence}


def without_shapes(event: dict[str, Any]) -> None:
    event["args"].pop("Input Dims", None)


def unknown_products(event: dict[str, Any]) -> None:
    if event["name"] == "aten::mm":
        event["name"] = "engine::mm"


def in_a_cache(event: dict[str, Any]) -> None:
    """Give additions inputs that device memory cannot deliver in their time."""
    if event["name"] == "aten::add":
        event["args"]["Input Dims"] = [[8192, 8192], [8192, 8192]]
        event["args"]["Input Strides"] = [[8192, 1], [8192, 1]]


def test_a_step_is_told_its_floor_its_parts_and_what_has_no_shape(tmp_path: Path) -> None:
    numbers = told(healthy(tmp_path))
    assert numbers["floor of a step of 10.2 ms, by shapes"] < 10.2
    assert numbers["time of kernels without a known shape"] == pytest.approx(
        100 * (2 * 160 + 2 * 300) / (9060 + 2 * 160 + 2 * 300 + 4 * 21 + 4 * 28), rel=1e-3
    )


def test_without_shapes_the_next_recording_is_asked_to_have_them(tmp_path: Path) -> None:
    finding = healthy(tmp_path, without_shapes)
    assert not any("floor" in name for name in told(finding))
    assert any("record_shapes=True" in each for each in finding.next)


def test_where_most_has_no_shape_there_is_no_floor(tmp_path: Path) -> None:
    numbers = told(healthy(tmp_path, unknown_products))
    assert not any("floor" in name for name in numbers)
    assert numbers["time of kernels without a known shape"] > 90


def test_what_a_cache_delivered_is_said(tmp_path: Path) -> None:
    numbers = told(healthy(tmp_path, in_a_cache))
    assert numbers["faster than device memory allows: from a cache"] == pytest.approx(
        100 * 4 * 28 / (9060 + 2 * 160 + 2 * 300 + 4 * 21 + 4 * 28), rel=1e-3
    )
    assert all(value <= 100 for name, value in numbers.items() if "bandwidth" in name)
