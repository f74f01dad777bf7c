"""A metric process by process."""

from pathlib import Path

import pytest

from harness.problem import manifest
from harness.report.page import Page
from harness.report.sections.processes import processes
from tests.support.manifests import GOOD, written
from tests.support.pages import page, rows_of
from tests.support.small_evidence import cell, samples, tables

PLACES = {"slow ones": ("slow", "small"), "fast ones": ("fast", "small")}


@pytest.fixture
def shown(tmp_path: Path) -> Page:
    cells = [cell("slow", 0), cell("slow", 1), cell("fast", 1)]
    rows = [
        *samples(cells[0], "wall_time", 0.2, 0.3, 0.5),
        *samples(cells[1], "wall_time", 0.6),
        *samples(cells[2], "wall_time", 0.1, 0.1),
    ]
    problem = manifest.load(written(tmp_path, GOOD))
    return page(problem, tables(cells=cells, samples=rows))


def test_a_row_has_the_median_of_each_process_under_its_number(shown: Page) -> None:
    assert rows_of(processes(shown, "time", PLACES)) == [
        ["time, µs", "process 1", "process 2"],
        ["slow ones", "300", "600"],
        ["fast ones", "–", "100"],
    ]


def test_without_samples_it_says_so(shown: Page) -> None:
    text = processes(shown, "time", {"none": ("fast", "other")})
    assert "not measured" in text
