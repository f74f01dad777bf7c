"""The drawn step: boxes where the operations ran, empty where the GPU idled, labels that fit."""

from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest

from harness.analysis.metrics import Metrics
from harness.analysis.step_timeline import StepTimeline, of
from harness.evidence import tables
from harness.problem.model import Problem
from harness.report import chart
from harness.report.sections import gpu_timeline
from harness.report.step_shapes import Shapes, shapes
from tests.support import figures, reports
from tests.support.pages import timed_page
from tests.support.timelines import Op, timeline


def made(*ops: Op) -> StepTimeline:
    """Return a step in which the host launches these operations, then waits for them."""
    rows = timeline([ops])
    end = rows["gpu_ops"].select((pl.col("start_ns") + pl.col("duration_ns")).max()).item()
    text = pl.col("name").cast(pl.String)
    kind = pl.col("kind").cast(pl.String)
    return StepTimeline(
        "nsys",
        end,
        rows["gpu_ops"].select("device", busy_ns=1, communication_ns=0).unique(),
        rows["gpu_ops"].with_columns(text, kind),
        rows["api_calls"].with_columns(text),
    )


def boxes(panel: Shapes, row: int) -> list[dict[str, float]]:
    """Return the boxes of one stream's row, from left to right."""
    tops = sorted({box["y"] for box in panel.boxes if 0 < box["y"] < panel.height})
    return sorted((box for box in panel.boxes if box["y"] == tops[row]), key=lambda box: box["x"])


def test_a_box_spans_its_operation_and_idle_time_stays_empty() -> None:
    step = made(Op("a", 20_000), Op("b", 5_000, after=15_000))
    drawn = boxes(shapes("fast", step, (0.0, 60.0)), 0)
    assert [(box["x"], box["x2"]) for box in drawn] == [(10.1, 30.1), (45.1, 50.1)]


def test_operations_thinner_than_a_pixel_are_drawn_a_pixel_each_by_the_time_they_take() -> None:
    quarter, half = (
        made(*[Op("k", 100, after=after) for _ in range(20_000)]) for after in (300, 100)
    )
    shown = []
    for step in (quarter, half):
        ends = (0.0, step.length_ns / 1e3)
        pixel = ends[1] / chart.WIDTH
        drawn = boxes(shapes("fast", step, ends), 0)
        started = (step.ops["start_ns"] / 1e3 // pixel).unique().sort().to_list()
        assert [round(box["x"] / pixel) for box in drawn] == started
        assert all(box["x2"] - box["x"] == pytest.approx(pixel) for box in drawn)
        shown.append(drawn[len(drawn) // 2]["colour"])
    assert int(str(shown[0])[1:3], 16) > int(str(shown[1])[1:3], 16)  # the idler, the lighter


def test_long_steps_are_told_in_ms() -> None:
    panel = shapes("slow", made(Op("k", 30_000_000)), (0.0, 40_000.0))
    texts = " ".join(text["text"] for text in panel.texts)
    assert "of 30.01 ms" in texts
    assert "1 × 30 ms" in texts


def test_each_stream_has_a_row_until_there_are_too_many() -> None:
    ops = [Op(f"k{stream}", 1_000, stream=stream) for stream in range(9)]
    panel = shapes("fast", made(*ops), (0.0, 30.0))
    rows = [boxes(panel, row) for row in range(5)]
    assert [len(row) for row in rows] == [1, 1, 1, 1, 5]
    shown = [text["text"] for text in panel.texts if text["align"] == "right"]
    assert shown == ["CUDA calls", "stream 0", "stream 1", "stream 2", "stream 3", "5 streams"]


def test_operations_that_overlap_on_one_stream_share_its_row() -> None:
    """Under programmatic dependent launch a kernel starts before the one ahead of it ends."""
    ops = [Op("k", 10_000), Op("k", 10_000, after=-2_000), Op("k", 10_000, after=-2_000)]
    panel = shapes("fast", made(*ops), (0.0, 60.0))
    inside = [box for box in panel.boxes if 20 < box["y"] < panel.height]
    assert [box["x"] for box in inside] == [10.1, 18.1, 26.1]
    assert inside[0]["y"] == inside[2]["y"]
    assert inside[1]["y"] >= inside[0]["y2"]
    assert inside[1]["y2"] <= panel.height


def test_a_name_is_written_only_into_a_box_that_holds_it() -> None:
    step = made(Op("a_kernel_of_some_length", 50_000), Op("another_kernel", 1_500))
    panel = shapes("fast", step, (0.0, 70.0))
    inside = [
        text for text in panel.texts if text["align"] == "center" and text["y"] < panel.height
    ]
    assert "a_kernel_of_some_length" in [text["text"] for text in inside]
    assert "another_kernel" not in [text["text"] for text in inside]
    assert any("another_kernel" in text["text"] for text in panel.texts)


def test_a_window_shows_its_part_alone() -> None:
    step = made(*(Op("k", 1_000) for _ in range(40)))
    whole = shapes("fast", step, (0.0, 60.0))
    part = shapes("fast", step, (20.0, 31.0))
    assert len(boxes(whole, 0)) == 40
    assert {20.0} <= {box["x"] for box in boxes(part, 0)}
    assert all(20.0 <= box["x"] < box["x2"] <= 31.0 for box in boxes(part, 0))
    assert 10 <= len(boxes(part, 0)) <= 12


def test_a_launch_leads_to_the_operation_that_it_caused() -> None:
    step = made(Op("a", 5_000), Op("b", 5_000))
    links = shapes("fast", step, (0.0, 30.0)).links
    assert [link["x2"] for link in links] == [10.1, 15.2]
    assert all(before["x"] < after["x"] for before, after in pairwise(links))
    crowded = made(*(Op("k", 100) for _ in range(60)))
    assert shapes("fast", crowded, (0.0, 30.0)).links == []


@pytest.mark.parametrize(
    ("case", "variants"),
    [
        ("stack-m1", ["f8-0.13.0-compiled", "bf16-tuned"]),
        ("llama-3.1-8b", ["bf16-compiled"]),  # hundreds of kernels
    ],
)
def test_measured_steps_are_drawn_with_no_label_on_another(case: str, variants: list[str]) -> None:
    metrics = Metrics(reports.kept_study(), tables.load(reports.KEPT / "evidence"))
    steps = [(name, of(metrics, name, case)) for name in variants]
    svg = gpu_timeline.draw([(name, step) for name, step in steps if step])
    assert figures.overlapping(svg) == []
    assert figures.size(svg)[0] <= 720
    texts = figures.labels(svg)
    assert sum(label.text.startswith("GPU busy") for label in texts) == len(variants)
    assert {label.size for label in texts} == {chart.FONT}


def test_without_a_timeline_the_page_says_so(example: Problem) -> None:
    line = gpu_timeline.gpu_timeline(timed_page(example, fast=1.0), "fast", "small", "c")
    assert line == "*GPU timeline of one step of fast: not measured on this target.*"


def test_the_same_stream_of_two_gpus_has_a_row_each() -> None:
    step = made(Op("a", 1000), Op("b", 1000))
    device = pl.Series("device", [0, 1])
    panel = shapes("two", replace(step, ops=step.ops.with_columns(device)), (0.0, 60.0))
    labels = [text["text"] for text in panel.texts]
    assert {"GPU 0, stream 7", "GPU 1, stream 7"} <= set(labels)
    assert len(boxes(panel, 0)) == len(boxes(panel, 1)) == 1


def test_rows_of_several_gpus_are_in_one_order_and_the_summary_spans_them() -> None:
    step = made(*(Op("k", 1000, stream=stream) for stream in (17, 7, 7, 17)))
    gpus = pl.DataFrame({"device": [0, 1], "busy_ns": [90, 50], "communication_ns": [5, 20]})
    ops = step.ops.with_columns(pl.Series("device", [1, 1, 0, 0]))
    panel = shapes("two", StepTimeline("nsys", 100, gpus, ops, step.calls), (0.0, 60.0))
    rows = [text["text"] for text in panel.texts if text["align"] == "right"]
    assert rows == ["CUDA calls", *(f"GPU {gpu}, stream {s}" for gpu in (0, 1) for s in (17, 7))]
    told = [text["text"] for text in panel.texts if text["text"].startswith("GPUs")]
    assert told == ["GPUs busy 50 to 90 % (5 to 20 % only communicating) of 0 µs under nsys"]


def test_a_stream_without_an_operation_in_the_window_has_no_row() -> None:
    step = made(Op("a", 10_000, stream=1), Op("b", 10_000, stream=2))
    rows = [text["text"] for text in shapes("fast", step, (21.0, 30.0)).texts]
    assert "stream 2" in rows
    assert "stream 1" not in rows
