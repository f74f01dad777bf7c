"""A difference as tables and bars: whole sums, and names that are shown and never interpreted."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.analysis.diff import gpu, memory
from harness.analysis.diff.aggregate import Side, of_times
from harness.analysis.diff.cells import CellDiff, CellTimes, Condition, FoldersDiff
from harness.analysis.diff.gpu import GpuDiff, Row
from harness.analysis.diff.timing import Ratio
from harness.analysis.statistics import Interval
from harness.report import difference, plots
from harness.report.difference import Section
from tests.support.timelines import Op, rows, timeline

HOSTILE = ["a|b", "<b>bold</b>", "`code`", "**x**", "[l](javascript:alert(1))", "k\n| row |"]


def rendered(sections: Sequence[Section]) -> str:
    text = difference.markdown(sections)
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def made(deltas: Sequence[int], a_ns: int = 100_000, steps: int = 1) -> GpuDiff:
    """Return a difference of kernels that changed by so many ns each."""
    parts = [
        Row(
            "kernel",
            f"k{place}",
            Side(names=(f"k{place}",), count=1, total_ns=a_ns, by_step=(a_ns,)),
            Side(names=(f"k{place}",), count=1, total_ns=a_ns + delta, by_step=(a_ns + delta,)),
            "changed" if delta else "unchanged",
        )
        for place, delta in enumerate(deltas)
    ]
    total = a_ns * len(deltas)
    return GpuDiff(("", ""), steps, total, total + sum(deltas), tuple(parts))


def column(section: Section, place: int) -> list[float]:
    return [float(row[place].partition(" (")[0]) for row in section.rows]


def capture(name: str, times: Sequence[int] = (9_000, 9_100, 9_050, 9_020)) -> gpu.GpuDiff:
    a = timeline([[Op("first", 9_000)] for _ in times])
    return gpu.compare(a, timeline([[Op("first", 9_000), Op(name, one)] for one in times]))


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
    hostile, harmless = (rendered(difference.sections(one)) for one in (diff, plain))
    for tag in ("<", "<td", "<tr>", "<h2>"):
        assert hostile.count(tag) == harmless.count(tag), hostile


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=40), st.integers(1, 9))
def test_the_rows_sum_to_the_whole(deltas: list[int], steps: int) -> None:
    found = made(deltas, steps=steps)
    section = difference.gpu_time(found, "nsys")
    *parts, whole = section.rows
    assert whole[0] == "whole step"
    assert len(section.rows) <= 17
    shown = Section("", rows=parts)
    for place, total in ((2, found.a_ns), (3, found.b_ns), (4, found.b_ns - found.a_ns)):
        assert float(whole[place]) == pytest.approx(total / 1e3 / steps, abs=6e-4)
        # Each number is rounded to a nanosecond.
        assert sum(column(shown, place)) == pytest.approx(float(whole[place]), abs=1e-3 * 18)


def test_what_changed_most_comes_first_and_what_did_not_is_one_row() -> None:
    section = difference.gpu_time(made([1_000, 0, -5_000, 0, 2_000]), "torch")
    assert [row[0] for row in section.rows] == ["k2", "k4", "k0", "2 other parts", "whole step"]
    assert column(section, 4) == [-5, 2, 1, 0, -2]
    assert section.lines[0].startswith("One step of torch (the whole capture)")


def test_fewer_rows_than_changes_say_how_many_are_left_out() -> None:
    section = difference.gpu_time(made(range(1_000, 21_000, 1_000)), "nsys")
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
    found = Interval(value, *ends, rounds, ends)
    return Ratio("step", metric, "ms", 2.0, 2.0 * value, found, "slower")


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


@settings(max_examples=50)
@given(st.lists(st.integers(-100_000, 10**6), min_size=1, max_size=30), st.integers(1, 12))
def test_bars_go_from_the_total_of_a_to_that_of_b(deltas: list[int], most: int) -> None:
    found = made(deltas)
    first, *parts, last = difference.bars(found, most=most)
    assert (first["label"], last["label"]) == ("A", "B")
    assert (first["start"], last["start"]) == (0, 0)
    assert first["end"] == pytest.approx(found.a_ns / 1e3)
    assert last["end"] == pytest.approx(found.b_ns / 1e3)
    at = first["end"]
    for bar in parts:
        assert bar["start"] == at
        at = bar["end"]
    assert at == last["end"]
    assert len(parts) <= most + 1
    labels = [bar["label"] for bar in (first, *parts, last)]
    assert len(set(labels)) == len(labels)


def test_bars_of_one_label_are_kept_apart() -> None:
    twin = Row("gap", "idle", of_times([1_000]), of_times([4_000]), "changed")
    found = GpuDiff(("", ""), 1, 2_000, 8_000, (twin, twin))
    labels = [bar["label"] for bar in difference.bars(found)]
    assert labels == ["A", "idle (1)", "idle (2)", "B"]


def test_a_kernel_called_like_a_total_is_a_bar_of_its_own() -> None:
    twin = Row("gap", "B", of_times([1_000]), of_times([4_000]), "changed")
    labels = [bar["label"] for bar in difference.bars(GpuDiff(("", ""), 1, 1_000, 4_000, (twin,)))]
    assert len(set(labels)) == 3


def test_the_waterfall_draws_every_bar_and_no_nan() -> None:
    bars = difference.bars(made([3_000, -2_000, 0, 0]))
    svg = plots.waterfall(bars, "µs a step")
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    for bar in bars:
        assert f">{bar['label']}</text>" in svg
        assert f">{bar['shown']}</text>" in svg
    assert len(re.findall(r'aria-roledescription="bar"', svg)) == len(bars)


@pytest.mark.parametrize("deltas", [[0], [0, 0], [-100_000], [5]])
def test_a_waterfall_of_hardly_anything(deltas: list[int]) -> None:
    svg = plots.waterfall(difference.bars(made(deltas)), "µs a step")
    assert "NaN" not in svg
    assert ">A</text>" in svg
    assert ">B</text>" in svg
