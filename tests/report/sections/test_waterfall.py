"""The waterfall: from the total of A to that of B, every bar by itself."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.diff.aggregate import of_times
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.report.sections.waterfall import draw, unit_of, waterfall_rows
from tests.support.diffs import kernel_diff


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=30), st.integers(1, 12))
def test_bars_go_from_the_total_of_a_to_that_of_b(deltas: list[int], most: int) -> None:
    diff = kernel_diff(deltas)
    first, *parts, last = waterfall_rows(diff, most=most)
    assert (first["label"], last["label"]) == ("A", "B")
    assert (first["start"], last["start"]) == (0, 0)
    assert first["end"] == pytest.approx(diff.a_ns / 1e3)
    assert last["end"] == pytest.approx(diff.b_ns / 1e3)
    at = first["end"]
    for bar in parts:
        assert bar["start"] == at
        at = bar["end"]
    assert at == last["end"]
    assert len(parts) <= most + 1
    labels = [bar["label"] for bar in (first, *parts, last)]
    assert len(set(labels)) == len(labels)


def test_bars_of_one_label_are_kept_apart() -> None:
    twin = DiffRow("copy", "idle", of_times([1_000]), of_times([4_000]), "changed")
    diff = GpuDiff(("", ""), 1, 2_000, 8_000, (twin, twin))
    labels = [bar["label"] for bar in waterfall_rows(diff)]
    assert labels == ["A", "idle (1)", "idle (2)", "B"]


def test_a_kernel_called_like_a_total_is_a_bar_of_its_own() -> None:
    twin = DiffRow("copy", "B", of_times([1_000]), of_times([4_000]), "changed")
    labels = [bar["label"] for bar in waterfall_rows(GpuDiff(("", ""), 1, 1_000, 4_000, (twin,)))]
    assert len(set(labels)) == 3


def test_a_waterfall_draws_every_bar_and_no_nan() -> None:
    bars = waterfall_rows(kernel_diff([3_000, -2_000, 0, 0]))
    svg = draw(bars, "µs a step")
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    for bar in bars:
        assert f">{bar['label']}</text>" in svg
        assert f">{bar['shown']}</text>" in svg
    assert len(re.findall(r'aria-roledescription="bar"', svg)) == len(bars)


def test_idle_time_is_no_part_of_the_work() -> None:
    kernel = DiffRow("copy", "copy", of_times([1_000]), of_times([4_000]), "changed")
    idle = DiffRow("gap", "idle", of_times([90_000]), of_times([10_000]), "faster here")
    bars = waterfall_rows(GpuDiff(("", ""), 1, 91_000, 14_000, (kernel, idle)))
    assert [(bar["label"], bar["start"], bar["end"]) for bar in bars] == [
        ("A", 0, 1),
        ("copy", 1, 4),
        ("B", 0, 4),
    ]


@pytest.mark.parametrize(
    ("busy_ns", "unit", "ends"), [(9_000_000, "µs", [9000, 3000]), (10_000_000, "ms", [10, 3])]
)
def test_a_step_of_ten_milliseconds_is_drawn_in_milliseconds(
    busy_ns: int, unit: str, ends: list[float]
) -> None:
    kernel = DiffRow("kernel", "k", of_times([busy_ns]), of_times([3_000_000]), "changed")
    diff = GpuDiff(("", ""), 1, busy_ns, 3_000_000, (kernel,))
    name, ns = unit_of(diff)
    first, _, last = waterfall_rows(diff, ns=ns)
    assert name == unit
    assert [first["end"], last["end"]] == pytest.approx(ends)


@pytest.mark.parametrize("deltas", [[0], [0, 0], [-100_000], [5]])
def test_a_waterfall_of_hardly_anything(deltas: list[int]) -> None:
    svg = draw(waterfall_rows(kernel_diff(deltas)), "µs a step")
    assert "NaN" not in svg
    assert ">A</text>" in svg
    assert ">B</text>" in svg
