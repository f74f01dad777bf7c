"""A step's difference as a table: its rows sum, and what is not known is not called noise."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.diff import gpu
from harness.analysis.diff.aggregate import of_times
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.analysis.students_t import Difference
from harness.report.section_text import Section, markdown
from harness.report.step_difference import by_gpu, gpu_time
from tests.support.diffs import kernel_diff
from tests.support.timelines import Op, timeline

WHOLE, BUSY = "whole step", "– without idle time"


def value(cell: str) -> float:
    """Return the number that a cell begins with."""
    return float(cell.partition(" ")[0].replace("\N{MINUS SIGN}", "-"))


def column(section: Section, place: int) -> dict[str, float]:
    return {row[0]: value(row[place]) for row in section.rows}


def idle(label: str, a_ns: int, b_ns: int, **other: object) -> DiffRow:
    row = DiffRow("gap", label, of_times([a_ns]), of_times([b_ns]), "unchanged")
    return replace(row, **other)  # type: ignore[arg-type]  # fields of a row


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=40), st.integers(1, 9))
def test_the_rows_sum_to_the_whole(deltas: list[int], steps: int) -> None:
    diff = kernel_diff(deltas, steps=steps)
    section = gpu_time(diff, "nsys")
    *parts, whole = section.rows
    assert whole[0] == WHOLE
    assert len(section.rows) <= 14
    assert len(section.head) == 6
    for place, total in ((2, diff.a_ns), (3, diff.b_ns), (4, diff.b_ns - diff.a_ns)):
        assert value(whole[place]) == pytest.approx(total / 1e3 / steps, abs=0.051)
        assert sum(value(row[place]) for row in parts) == pytest.approx(
            value(whole[place]), abs=0.051 * len(section.rows)
        )


def test_idle_time_ranks_among_the_parts_by_its_change() -> None:
    work = kernel_diff([-80_000]).rows[0]
    diff = GpuDiff(("", ""), 1, 300_000, 150_000, (work, idle("waiting", 200_000, 130_000)))
    section = gpu_time(diff, "nsys", "old", "new")
    assert section.lead.startswith(
        "A is old, B is new. The capture takes 0.5× as long in B (300 → 150 µs):"
    )
    assert list(column(section, 3).items()) == [
        ("k0", 20),
        ("waiting", 130),
        (WHOLE, 150),
        (BUSY, 20),
    ]
    assert [row[-1] for row in section.rows] == ["53 %", "47 %", "100 %", "53 %"]
    swapped = replace(diff, rows=(work, idle("waiting", 200_000, 50_000)), b_ns=70_000)
    assert [row[0] for row in gpu_time(swapped, "nsys").rows][:2] == ["waiting", "k0"]


def test_what_changed_most_comes_first_and_what_did_not_is_one_row() -> None:
    section = gpu_time(kernel_diff([1_000, 0, -5_000, 0, 2_000]), "torch")
    assert list(column(section, 4).items()) == [
        ("k2", -5),
        ("k4", 2),
        ("k0", 1),
        ("2 other parts", 0),
        (WHOLE, -2),
    ]
    assert section.lines[0].startswith("One step of torch (the whole capture)")
    assert section.lines[1] == "Not shown: 2 parts, unchanged."


def test_what_is_cut_is_counted_and_summed() -> None:
    section = gpu_time(kernel_diff(range(1_000, 21_000, 1_000)), "nsys")
    assert [row[0] for row in section.rows[-2:]] == ["8 other parts", WHOLE]
    assert section.rows[0][0] == "k19"
    assert section.rows[-2][4] == "+36.0"
    assert section.lines[1] == "Not shown: 8 parts, at most 8.0 µs each."


def test_only_what_has_an_interval_is_within_noise() -> None:
    """Of twenty parts that differ as much, those without an interval are not judged."""
    base = kernel_diff([10] * 20)
    known = [
        replace(row, change="unchanged", difference=Difference(10, -50, 70))
        for row in base.rows[:8]
    ]
    unknown = [replace(row, change="not judged") for row in base.rows[8:]]
    section = gpu_time(replace(base, rows=(*known, *unknown)), "nsys")
    assert [row[1] for row in section.rows[:12]] == ["within noise"] * 8 + ["not judged"] * 4
    assert section.lines[1] == "Not shown: 8 parts, at most 0.0 µs each."
    assert "Not judged: seen too few times for an interval." in section.lines


def test_parts_that_cancel_have_no_share_of_what_is_left() -> None:
    section = gpu_time(kernel_diff([50_000, -49_000]), "nsys")
    assert [row[-1] for row in section.rows] == ["–", "–", "–"]


def test_each_gpu_has_its_row() -> None:
    one, two = kernel_diff([5_000]), kernel_diff([-70_000])
    diff = replace(kernel_diff([5_000, -70_000]), gpus=(2, 2), devices={"0": one, "1": two})
    rows = by_gpu(diff).rows
    assert [row[:2] for row in rows] == [
        ["GPU 0", "k0 +5.0"],
        ["GPU 1", "k0 \N{MINUS SIGN}70.0"],
    ]
    assert [row[2:] for row in rows] == [
        ["100.0", "105.0", "0.0", "0.0"],
        ["100.0", "30.0", "0.0", "0.0"],
    ]
    assert "the mean of 2 GPUs" in gpu_time(diff, "nsys").lines[0]


def test_a_change_clear_of_zero_but_small_is_not_called_noise() -> None:
    small = idle("waiting", 9_000, 8_000, difference=Difference(-1_000, -1_500, -500))
    noise = idle("computing", 9_000, 8_000, difference=Difference(-1_000, -2_500, 500))
    section = gpu_time(GpuDiff(("", ""), 1, 18_000, 16_000, (small, noise)), "nsys")
    assert [row[1] for row in section.rows if row[1]] == ["small", "within noise"]
    assert any(line.startswith("Small: perhaps below 1 %") for line in section.lines)


def test_a_large_part_within_noise_has_a_row_and_its_interval() -> None:
    noisy = idle("idle", 0, 0)
    row = replace(
        kernel_diff([50_000]).rows[0], change="unchanged", difference=Difference(5e4, -1e5, 2e5)
    )
    section = gpu_time(GpuDiff(("", ""), 1, 100_000, 150_000, (row, noisy)), "nsys")
    assert section.rows[0][:2] == ["k0", "within noise"]
    assert section.rows[0][4] == "+50.0 ± 150.0"


def test_not_judged_is_explained() -> None:
    a, b = (timeline([[Op("k", duration)]]) for duration in (9_000, 10_000))
    section = gpu_time(gpu.compare(a, b), "nsys")
    assert section.rows[0][:2] == ["k", "not judged"]
    assert any("Not judged" in line for line in section.lines)


def test_long_names_are_shortened_and_stand_in_full_below() -> None:
    long = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
    a = timeline([[Op("first", 9_000)]])
    b = timeline([[Op("first", 9_000), Op(long, 4_000)]])
    section = gpu_time(gpu.compare(a, b), "nsys")
    assert section.rows[0][0] == "vectorized_elementwise_kernel<AddFunctor>"
    assert section.notes[-1] == f"{long}: 1 a step"
    page = markdown([section])
    assert "<summary>Each part in full</summary>" in page
    assert page.index("at::native") > page.index("<details>")
