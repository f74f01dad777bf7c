"""A timeline's document: parts that sum, joins only where they are cheap, ranges by series."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.timeline_summary import timeline
from harness.evidence.tables import LARGE
from harness.extract import door
from tests.support.paths import DATA
from tests.support.programs import MS, US, Program

CAPTURES = ["nsys/streams.sqlite.zst", "nsys/processes.sqlite.zst", "torch/streams.json.gz"]


def of_file(path: Path) -> Any:
    (capture,) = door.capture(path).captures.values()
    return timeline(capture.tables)


@pytest.mark.parametrize("name", CAPTURES)
def test_parts_of_a_device_sum_to_its_span_and_idle_rows_to_its_idle_time(name: str) -> None:
    found = of_file(DATA / name)
    assert found["gpu"]["devices"]
    for device in found["gpu"]["devices"]:
        parts = ("compute_ns", "communication_ns", "copy_ns", "idle_ns")
        assert sum(device[part] for part in parts) == device["span_ns"]
        rows = [row for row in found["idle"] if row["device"] == device["device"]]
        assert sum(row["total_ns"] for row in rows) == device["idle_ns"]
        assert sum(row["share"] for row in rows) == pytest.approx(
            device["idle_ns"] / device["span_ns"]
        )
    in_calls = sum(row["total_ns"] for row in found["idle"] if row["call"] is not None)
    assert sum(row["idle_ns"] for row in found["calls"]) == in_calls > 0


def stepping(kernels: int = 2) -> dict[str, pl.DataFrame]:
    """Four numbered steps after a range of its own; the host works 1 ms in each."""
    program = Program()
    with program.marked("warm up"):
        program.launch(10 * US)
    for turn in range(4):
        with program.marked(f"step{turn}"):
            for _ in range(kernels):
                program.launch(10 * US)
            program.synchronise()
            program.work(1 * MS)
    return program.tables()


def test_ranges_of_a_series_say_so() -> None:
    found = timeline(stepping())
    (series,) = found["series"]
    assert (series["name"], series["count"], series["kernels"]) == ("stepN", 4, 2.0)
    assert {row["name"]: row["series"] for row in found["ranges"]} == {
        "warm up": None,
        **{f"step{turn}": "stepN" for turn in range(4)},
    }


def test_what_joins_tables_is_left_out_of_a_large_capture_and_all_else_is_not() -> None:
    tables = stepping()
    small = timeline(tables)
    copies = LARGE // tables["gpu_ops"].height + 1
    large = timeline(tables | {"gpu_ops": pl.concat([tables["gpu_ops"]] * copies)})
    assert (large["idle"], large["calls"], large["series"]) == (None, None, None)
    assert small["idle"]
    assert large["gpu"]["idle_ns"] == small["gpu"]["idle_ns"] > 0
    assert [row["series"] for row in large["ranges"]] == [None] * len(small["ranges"])
