"""Memory over time: areas by pool where pools are known, lines where not, phases by name."""

import re
from typing import Any

from harness.evidence.tables import FREED_POOL, empty, frame
from harness.report.sections.memory_timeline import draw_capture, phase_marks, rows_of_names


def drawn(by_pool: Any = None) -> str | None:
    timeline = {
        "index": range(4),
        "phase": [None, "load", "load", "run"],
        "allocated_bytes": [0, 10**6, 2 * 10**6, 10**6],
        "reserved_bytes": [10**6, 3 * 10**6, 5 * 10**6, 5 * 10**6],
    }
    tables = {
        "memory_timeline": frame("memory_timeline", timeline),
        "memory_by_pool": empty("memory_by_pool"),
    } | (by_pool or {})
    return draw_capture(tables)


def test_memory_without_pools_over_time_is_two_lines() -> None:
    svg = drawn() or ""
    assert "area mark" not in svg
    assert len(re.findall('aria-roledescription="line mark"', svg)) == 2
    assert ">reserved<" in svg


def test_memory_by_pool_is_an_area_a_pool_under_the_allocated_line() -> None:
    levels = {
        "index": [-1, -1, 0, 1, 2],
        "pool": [FREED_POOL, "default", "default", FREED_POOL, "default"],
        "allocated_bytes": [0] * 5,
        "reserved_bytes": [0, 0, 10**6, 2 * 10**6, 3 * 10**6],
    }
    svg = drawn({"memory_by_pool": frame("memory_by_pool", levels)}) or ""
    assert len(re.findall('aria-roledescription="area mark"', svg)) == 2
    assert len(re.findall('aria-roledescription="line mark"', svg)) == 1
    for text in ("reserved: default", f"reserved: {FREED_POOL}", "allocated", "load", "run"):
        assert f">{text}<" in svg
    areas = re.findall(r'series: (reserved: [^;]*);[^"]*" role="graphics-symbol"', svg)
    assert areas == ["reserved: default", f"reserved: {FREED_POOL}"]
    assert "NaN" not in svg


def test_many_pools_are_drawn_as_a_few_and_the_others() -> None:
    names = [f"graph pool (0, {number})" for number in range(20)]
    levels = {
        "index": [-1] * 20,
        "pool": names,
        "allocated_bytes": [0] * 20,
        "reserved_bytes": [250_000] * 20,
    }
    svg = drawn({"memory_by_pool": frame("memory_by_pool", levels)}) or ""
    assert len(re.findall('aria-roledescription="area mark"', svg)) == 6
    assert ">reserved: other pools<" in svg


def test_phases_that_lie_close_share_a_name() -> None:
    begins = [("import", 0), ("load", 10), ("eager", 500), ("record", 510), ("run", 990)]
    marks = phase_marks(begins, 1000)
    assert [mark["index"] for mark in marks] == [0, 10, 500, 510, 990]
    assert [mark["shown"] for mark in marks] == ["import, load", "", "eager, record", "", "run"]


def test_a_name_stands_above_those_whose_marks_lie_under_it() -> None:
    spans = [(0.0, 0.0, 120.0), (60.0, 60.0, 100.0), (90.0, 90.0, 130.0), (300.0, 300.0, 360.0)]
    assert rows_of_names(spans) == [2, 1, 0, 0]


def test_a_name_moved_from_the_edge_stands_above_what_it_would_touch() -> None:
    spans = [(100.0, 100.0, 140.0), (380.0, 380.0, 470.0), (505.0, 400.0, 510.0)]
    assert rows_of_names(spans) == [0, 0, 1]
    assert rows_of_names([]) == []
