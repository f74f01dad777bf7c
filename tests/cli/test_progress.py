"""What a run shows of its progress: plain lines in a log, a bar with an estimate on a terminal."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli.progress import Estimate, Progress, in_words
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from harness.run.durations import Duration
from tests.support.manifests import GOOD, written


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Slow and fast, fast and slow."""
    return plan(manifest.load(written(tmp_path, GOOD)), Selected(rounds=2), "cpu")


def shown(cells: list[Cell], console: Console) -> int:
    took = {f"small.slow.timing.r{number}": Duration(0.0, 100.0) for number in (0, 1)}
    with Progress(cells, took, console=console) as progress:
        progress.notify(cells[0], "running", 0.0)
        progress.notify(cells[0], "ok", 1.25)
        progress.notify(cells[1], "running", 0.0)
        progress.notify(cells[1], "failed: no [luck]", 20.0)
    return progress.failed


LINES = [
    "[1/4] small slow timing round 0: ok, 1.2 s",
    "[2/4] small fast timing round 0: failed: no [luck], 20.0 s",
]


def test_without_a_terminal_each_cell_is_a_line(cells: list[Cell]) -> None:
    console = Console(file=io.StringIO(), width=40)
    assert shown(cells, console) == 1
    assert console.file.getvalue().splitlines() == LINES  # type: ignore[attr-defined]


def test_a_run_that_goes_on_counts_on(cells: list[Cell]) -> None:
    console = Console(file=io.StringIO(), width=40)
    with Progress(cells[2:], done=2, console=console) as progress:
        progress.notify(cells[2], "running", 0.0)
        progress.notify(cells[2], "ok", 1.0)
    assert console.file.getvalue().startswith("[3/4] small fast")  # type: ignore[attr-defined]


def test_a_quiet_run_prints_nothing(cells: list[Cell]) -> None:
    console = Console(file=io.StringIO(), quiet=True)
    assert shown(cells, console) == 1
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_on_a_terminal_there_is_a_bar_with_an_estimate_below_the_lines(cells: list[Cell]) -> None:
    console = Console(
        file=io.StringIO(), width=120, force_terminal=True, color_system=None, _environ={}
    )
    shown(cells, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for line in LINES:
        assert any(line in printed for printed in lines)
    bar = [line for line in lines if "2/4" in line][-1]
    assert "━" in bar
    assert "0:00:0" in bar
    # One slow cell of 100 s, one fast cell at the mean of 1.25 s and 20 s.
    assert "about 2 min left" in bar


def test_the_estimate_takes_earlier_durations_and_else_this_runs_mean(cells: list[Cell]) -> None:
    slow, fast, *_ = cells
    assert Estimate(cells, {}).left(0.0) is None  # nothing is known of any cell
    known_of = {cell.name: Duration(40.0, 60.0) for cell in cells if cell.variant == "slow"}
    estimate = Estimate(cells, known_of)
    assert estimate.left(0.0) == 4 * 100.0  # nothing else is known of the fast ones
    estimate.start(slow, 0.0)
    estimate.end(slow, 60.0)
    assert estimate.left(60.0) == 100.0 + 2 * 60.0
    estimate.start(fast, 60.0)
    assert estimate.left(70.0) == 100.0 + 60.0 + (60.0 - 10.0)
    assert estimate.left(1000.0) == 100.0 + 60.0  # it takes longer than expected
    estimate.end(fast, 20.0)
    assert estimate.left(1000.0) == 100.0 + (60.0 + 20.0) / 2


def test_only_what_cells_do_side_by_side_is_shared_among_jobs(cells: list[Cell]) -> None:
    took = {cell.name: Duration(10.0, 60.0) for cell in cells}
    assert Estimate(cells, took, jobs=3).left(0.0) == 4 * (10.0 + 60.0 / 3)
    first, *others = cells
    tuned = [replace(first, alone=True), *others]
    assert Estimate(tuned, took, jobs=3).left(0.0) == 70.0 + 3 * (10.0 + 60.0 / 3)


def test_a_run_that_ends_has_no_time_left(cells: list[Cell]) -> None:
    estimate = Estimate(cells[:1], {cells[0].name: Duration(1.0, 0.0)})
    estimate.start(cells[0], 0.0)
    estimate.end(cells[0], 1.0)
    assert estimate.left(1.0) == 0.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3540, "59 min"), (11_100, "3 h 5 min")],
)
def test_a_duration_is_as_exact_as_an_estimate(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
