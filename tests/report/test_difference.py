"""A difference as tables and bars: whole sums, and names that are shown and never interpreted."""

from collections.abc import Sequence

import pytest
from markdown_it import MarkdownIt

from harness.analysis.diff import gpu, memory
from harness.analysis.diff.cells import CellDiff, CellTimes, Condition, FoldersDiff
from harness.analysis.diff.timing import Ratio, Verdict
from harness.analysis.statistics import Interval
from harness.analysis.verdict import LEAST_PROCESSES
from harness.evidence.tables import Tables
from harness.report import difference
from harness.report.section_text import Section, markdown
from tests.support.timelines import Op, rows, timeline

HOSTILE = ["a|b", "<b>bold</b>", "`code`", "**x**", "[l](javascript:alert(1))", "k\n| row |"]


def rendered(sections: Sequence[Section]) -> str:
    text = markdown(sections)
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


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
        "memory_by_pool": rows("memory_by_pool", []),
    }
    less = [sites[0] | {"peak_bytes": 3}]
    none = {key: table.clear() for key, table in held.items()}
    diff = CellDiff(
        (Condition("nsys", name, name, name),),
        (name,),
        gpu=capture(name),
        gpu_kind="nsys",
        memory=memory.compare(none | {"memory_sites": rows("memory_sites", less)}, held),
    )
    plain = CellDiff(
        (Condition("nsys", "n", "n", "n"),),
        ("n",),
        gpu=capture("n"),
        gpu_kind="nsys",
        memory=memory.compare(
            none | {"memory_sites": rows("memory_sites", [less[0] | {"phase": "n", "site": "n"}])},
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


def test_sections_without_rows_keep_their_lines() -> None:
    text = markdown([Section("Title", ["a"], [], ["a line"]), Section("", [], [], ["b"])])
    assert text == "## Title\n\na line\n\nb"
    (only,) = difference.sections(CellDiff((), ("nsys: no GPU work in the second",)))
    assert only.rows == []
    assert only.lead == "Not compared: nsys: no GPU work in the second."


def ratio(value: float, rounds: int = 5, metric: str = "latency") -> Ratio:
    ends = (value * 0.9, value * 1.1)
    verdict: Verdict = "slower" if rounds >= LEAST_PROCESSES else "described"
    return Ratio("step", metric, "ms", 2.0, 2.0 * value, Interval(value, *ends, rounds), verdict)


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


def test_memory_names_the_phase_that_grew_most_and_its_line() -> None:
    def held(**sizes: int) -> Tables:
        sites = [
            {"phase": name.partition("_")[0], "site": f"model.py:{name}", "peak_bytes": size}
            for name, size in sizes.items()
        ]
        others = ("memory_pools", "memory_pool_peaks", "memory_by_pool")
        return {name: rows(name, []) for name in others} | {
            "memory_sites": rows("memory_sites", sites)
        }

    a = held(load_1=5_000_000, step_1=1_000_000, step_2=2_000_000)
    b = held(load_1=6_000_000, step_1=9_000_000, step_2=1_000_000)
    diff = CellDiff((), (), memory=memory.compare(a, b))
    assert difference.headline(diff) == (
        "The peak of step goes from 3 MB to 10 MB (+7 MB);"
        " the largest change: model.py:step_1, +8 MB."
    )
    assert difference.sections(diff)[1].lead == difference.headline(diff)
    started = [{"index": -1, "pool": "default", "allocated_bytes": 4_000_000}]
    late = b | {"memory_by_pool": rows("memory_by_pool", started)}
    told = CellDiff((), (), memory=memory.compare(a, late))
    assert difference.headline(told).endswith("not counted: 0 B in A, 4 MB in B.")
    assert "of what the history saw" in difference.sections(told)[1].rows[-1][0]
    other = memory.compare(a, held(lost_1=1))
    assert difference.headline(CellDiff((), (), memory=other)) == (
        "A and B have no phase in common."
    )
    lines = [line for section in difference.memory(other) for line in section.lines]
    assert lines == ["Phases only in A: load, step; only in B: lost."]
    same = CellDiff((), (), memory=memory.compare(a, a))
    assert difference.headline(same) == "No peak holds another number of bytes."


def test_a_condition_of_several_captures_is_one_row() -> None:
    told = [Condition(kind, "torchao", "0.13", "0.18") for kind in ("nsys", "torch")]
    alike = (Condition("nsys", "GPU", "x", "x"), Condition("memory", "torchao", "1", "1"))
    section = difference.sections(CellDiff(tuple(told), (), alike))[0]
    assert section.rows == [["nsys, torch", "torchao", "0.13", "0.18"]]
    assert section.lines == ["Alike: GPU."]


def test_the_peak_of_a_history_without_phases_is_of_none() -> None:
    assert difference._of([""]) == ""
    assert difference._of(["step", "load"]) == " of step, load"
    assert difference._of(["", "load"]) == " of what is in no phase, load"
