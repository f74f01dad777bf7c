"""The pools of real memory captures, whose sums are taken here by hand."""

from typing import Any

import pytest

from harness.captures.memory import read as reader
from harness.evidence.tables import Tables, empty, frame
from harness.report.sections.memory_pools import filled_table
from tests.support.paths import ROOT

CAPTURES = ROOT / "tests/data/memory"
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}


@pytest.fixture(scope="module")
def sides() -> list[Tables]:
    names = ("bf16_graphs", "013_graphs")
    return [reader.read(CAPTURES / f"stack_{name}.json.gz") for name in names]


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ][2:]


def size(text: str) -> float:
    value, unit = text.replace(",", "").split()
    return float(value) * UNITS[unit]


def test_what_filled_a_graphs_pool_adds_up_to_what_it_reserved(sides: list[Tables]) -> None:
    lines = rows(filled_table(sides[1]))
    assert lines[0][0] == "graph pool (0, 1), reserved then"
    assert lines[-1][0] == "nothing"
    assert sum(size(row[2]) for row in lines[1:]) == pytest.approx(size(lines[0][2]), rel=1e-3)
    # A weight is 4096 x 4096: three matrices of float32, one of bf16, and a workspace of 32 MiB.
    large = [size(row[2]) for row in lines[1:-1] if size(row[2]) > 1e6]
    assert large == pytest.approx([67.11e6] * 3 + [33.55e6] * 2)


def test_captures_without_graphs_have_what_filled_the_default_pool() -> None:
    lines = rows(filled_table(reader.read(CAPTURES / "stack_013_eager.json.gz")))
    assert [line[0] for line in (lines[0], lines[-1])] == ["default, reserved then", "nothing"]
    assert sum(size(row[2]) for row in lines[1:]) == pytest.approx(size(lines[0][2]), rel=1e-3)


def test_blocks_that_no_history_counts_are_unknown_in_number() -> None:
    levels = {"index": [-1, 0], "pool": ["graph pool (0, 1)"] * 2}
    levels |= {"allocated_bytes": [7, 9], "reserved_bytes": [10, 10]}
    held: dict[str, list[Any]] = {
        "pool": ["graph pool (0, 1)"] * 2,
        "site": ["a.py:1 f", "unknown"],
    }
    held |= {"stack": held["site"], "count": [1, None], "bytes": [2, 7]}
    tables = {
        "memory_timeline": empty("memory_timeline"),
        "memory_by_pool": frame("memory_by_pool", levels),
        "memory_pool_peaks": frame("memory_pool_peaks", held),
    }
    assert rows(filled_table(tables))[1:] == [
        ["unknown", "unknown", "7 B"],
        ["a.py:1 f", "1", "2 B"],
        ["nothing", "", "1 B"],
    ]
