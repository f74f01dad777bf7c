"""A step's difference as a table: its rows sum, and what is not known is not called noise."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.diff import gpu
from harness.analysis.diff.aggregate import of_times
from harness.analysis.diff.gpu import GpuDiff, Row
from harness.analysis.students_t import Difference
from harness.report.section_text import Section, markdown
from harness.report.step_difference import gpu_time
from tests.support.diffs import kernel_diff
from tests.support.timelines import Op, timeline

WHOLE = "whole step, idle time included"


def value(cell: str) -> float:
    """Return the number that a cell begins with."""
    return float(cell.partition(" ")[0].replace("\N{MINUS SIGN}", "-"))


def column(section: Section, place: int) -> dict[str, float]:
    return {row[0]: value(row[place]) for row in section.rows}


def idle(label: str, a_ns: int, b_ns: int, **other: object) -> Row:
    row = Row("gap", label, of_times([a_ns]), of_times([b_ns]), "unchanged")
    return replace(row, **other)  # type: ignore[arg-type]  # fields of a row


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=40), st.integers(1, 9))
def test_the_rows_sum_to_the_whole(deltas: list[int], steps: int) -> None:
    diff = kernel_diff(deltas, steps=steps)
    section = gpu_time(diff, "nsys")
    *parts, busy, whole = section.rows
    assert (busy[0], whole[0]) == ("GPU busy", WHOLE)
    assert len(section.rows) <= 18
    assert len(section.head) == 6
    for place, total in ((2, diff.a_ns), (3, diff.b_ns), (4, diff.b_ns - diff.a_ns)):
        for row in (busy, whole):
            assert value(row[place]) == pytest.approx(total / 1e3 / steps, abs=0.051)
        assert sum(value(row[place]) for row in parts) == pytest.approx(
            value(whole[place]), abs=0.051 * len(section.rows)
        )


def test_busy_time_and_the_step_are_told_apart() -> None:
    work = kernel_diff([-80_000]).rows[0]
    diff = GpuDiff(("", ""), 1, 300_000, 150_000, (work, idle("waiting", 200_000, 130_000)))
    section = gpu_time(diff, "nsys", "old", "new")
    assert section.lead == (
        "From A (old) to B (new), the GPU's busy time of a step goes from 100 to 20 µs"
        " (\N{MINUS SIGN}80 µs). Largest part: k0, \N{MINUS SIGN}80 µs, 100 % of that."
        " With idle time, the step goes from 300 to 150 µs."
    )
    assert list(column(section, 2)) == ["k0", "GPU busy", "waiting", WHOLE]
    assert column(section, 3) == {"k0": 20, "GPU busy": 20, "waiting": 130, WHOLE: 150}
    assert [row[-1] for row in section.rows] == ["100 %", "100 %", "–", "–"]


def test_what_changed_most_comes_first_and_what_did_not_is_one_row() -> None:
    section = gpu_time(kernel_diff([1_000, 0, -5_000, 0, 2_000]), "torch")
    assert list(column(section, 4).items()) == [
        ("k2", -5),
        ("k4", 2),
        ("k0", 1),
        ("2 other parts", 0),
        ("GPU busy", -2),
        (WHOLE, -2),
    ]
    assert section.lines[0].startswith("One step of torch (the whole capture)")


def test_fewer_rows_than_changes_say_how_many_are_left_out() -> None:
    section = gpu_time(kernel_diff(range(1_000, 21_000, 1_000)), "nsys")
    assert [row[0] for row in section.rows[-3:]] == ["8 other parts", "GPU busy", WHOLE]
    assert section.rows[0][0] == "k19"
    assert section.rows[-3][1] == "changed"


def test_only_what_has_an_interval_is_within_noise() -> None:
    """Of twenty parts that differ little, those without an interval are not judged."""
    base = kernel_diff([10] * 20)
    known = [
        replace(row, change="unchanged", difference=Difference(10, -50, 70))
        for row in base.rows[:8]
    ]
    unknown = [replace(row, change="not judged") for row in base.rows[8:]]
    section = gpu_time(replace(base, rows=(*known, *unknown)), "nsys")
    assert {row[0]: row[1] for row in section.rows if "other" in row[0]} == {
        "8 other parts": "within noise"
    }
    assert [row[1] for row in section.rows].count("not judged") == len(unknown)
    assert "Not judged: seen too few times for an interval." in section.lines


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
    assert section.notes == [f"{long}: 1 a step"]
    page = markdown([section])
    assert "<summary>Each part in full</summary>" in page
    assert page.index("at::native") > page.index("<details>")
