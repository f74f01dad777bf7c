"""A difference as tables and bars: whole sums, and names that are shown and never interpreted."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.analysis.diff import gpu, memory
from harness.analysis.diff.cells import CellDiff, CellTimes, Condition, FoldersDiff
from harness.analysis.diff.timing import Ratio
from harness.analysis.statistics import Interval
from harness.report import difference
from harness.report.difference import Section
from tests.support.diffs import kernel_diff
from tests.support.timelines import Op, rows, timeline

HOSTILE = ["a|b", "<b>bold</b>", "`code`", "**x**", "[l](javascript:alert(1))", "k\n| row |"]


def rendered(sections: Sequence[Section]) -> str:
    text = difference.markdown(sections)
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def column(section: Section, place: int) -> list[float]:
    return [float(row[place].partition(" (")[0]) for row in section.rows]


def capture(name: str, times: Sequence[int] = (9_000, 9_100, 9_050, 9_020)) -> gpu.GpuDiff:
    a = timeline([[Op("first", 9_000)] for _ in times])
    return gpu.compare(
        a, timeline([[Op("first", 9_000), Op(name, duration)] for duration in times])
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_captures_are_shown_as_they_are(name: str) -> None:
    sites = [{"phase": name, "site": name, "peak_bytes": 5, "count": 1}]
    pools = [{"pool": name, "reserved_bytes": 5, "allocated_bytes": 5}]
    filled = [{"pool": name, "site": name, "bytes": 5, "count": 1}]
    held = {
        "memory_sites": rows("memory_sites", sites),
        "memory_pools": rows("memory_pools", pools),
        "memory_pool_peaks": rows("memory_pool_peaks", filled),
    }
    none = {key: table.clear() for key, table in held.items()}
    diff = CellDiff(
        (Condition("nsys", name, name, name),),
        (name,),
        gpu=capture(name),
        gpu_kind="nsys",
        memory=memory.compare(none, held),
    )
    plain = CellDiff(
        (Condition("nsys", "n", "n", "n"),),
        ("n",),
        gpu=capture("n"),
        gpu_kind="nsys",
        memory=memory.compare(
            none,
            none
            | {
                "memory_sites": rows("memory_sites", [sites[0] | {"phase": "n", "site": "n"}]),
                "memory_pools": rows("memory_pools", [pools[0] | {"pool": "n"}]),
                "memory_pool_peaks": rows(
                    "memory_pool_peaks", [filled[0] | {"pool": "n", "site": "n"}]
                ),
            },
        ),
    )
    hostile, harmless = (rendered(difference.sections(cells)) for cells in (diff, plain))
    for tag in ("<", "<td", "<tr>", "<h2>"):
        assert hostile.count(tag) == harmless.count(tag), hostile


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=40), st.integers(1, 9))
def test_the_rows_sum_to_the_whole(deltas: list[int], steps: int) -> None:
    diff = kernel_diff(deltas, steps=steps)
    section = difference.gpu_time(diff, "nsys")
    *parts, whole = section.rows
    assert whole[0] == "whole step"
    assert len(section.rows) <= 17
    shown = Section("", rows=parts)
    for place, total in ((2, diff.a_ns), (3, diff.b_ns), (4, diff.b_ns - diff.a_ns)):
        assert float(whole[place]) == pytest.approx(total / 1e3 / steps, abs=6e-4)
        # Each number is rounded to a nanosecond.
        assert sum(column(shown, place)) == pytest.approx(float(whole[place]), abs=1e-3 * 18)


def test_what_changed_most_comes_first_and_what_did_not_is_one_row() -> None:
    section = difference.gpu_time(kernel_diff([1_000, 0, -5_000, 0, 2_000]), "torch")
    assert [row[0] for row in section.rows] == ["k2", "k4", "k0", "2 other parts", "whole step"]
    assert column(section, 4) == [-5, 2, 1, 0, -2]
    assert section.lines[0].startswith("One step of torch (the whole capture)")


def test_fewer_rows_than_changes_say_how_many_are_left_out() -> None:
    section = difference.gpu_time(kernel_diff(range(1_000, 21_000, 1_000)), "nsys")
    assert [row[0] for row in section.rows[-2:]] == ["5 other parts", "whole step"]
    assert section.rows[0][0] == "k19"
    # What is left out changed as well: it is not to be called unchanged.
    assert section.rows[-2][1] != "unchanged"


def test_not_judged_is_explained() -> None:
    a, b = (timeline([[Op("k", duration)]]) for duration in (9_000, 10_000))
    section = difference.gpu_time(gpu.compare(a, b), "nsys")
    assert section.rows[0][:2] == ["k", "not judged"]
    assert any("Not judged" in line for line in section.lines)


def test_sections_without_rows_keep_their_lines() -> None:
    text = difference.markdown(
        [Section("Title", ["a"], [], ["a line"]), Section("", [], [], ["b"])]
    )
    assert text == "## Title\n\na line\n\nb"
    (only,) = difference.sections(CellDiff((), ("nsys: no GPU work in the second",)))
    assert only.rows == []
    assert only.lines[1] == "Not compared: nsys: no GPU work in the second."


def ratio(value: float, rounds: int = 5, metric: str = "latency") -> Ratio:
    ends = (value * 0.9, value * 1.1)
    interval = Interval(value, *ends, rounds, ends)
    return Ratio("step", metric, "ms", 2.0, 2.0 * value, interval, "slower")


def test_times_of_one_process_say_so() -> None:
    for rounds, lines in ((5, 0), (1, 1)):
        times = difference.sections(CellDiff((), (), timing=(ratio(1.5, rounds),)))[1]
        assert len(times.lines) == lines
        assert times.rows[0][:4] == ["latency of step", "2 ms", "3 ms", "1.5× [1.35, 1.65]"]


def test_folders_list_cells_and_what_only_one_has() -> None:
    cells = (
        CellTimes("c", "v", (ratio(1.5), ratio(2, metric="gpu_time"))),
        CellTimes("c", "w", ()),
    )
    section = difference.folders(FoldersDiff(cells, ("c.x", "c.y"), ()))
    assert [row[:2] for row in section.rows] == [["c.v", "latency"], ["c.v", "gpu_time"]]
    assert section.lines == ["Only in A: c.x, c.y."]
