"""What a run shows of its progress: plain lines in a log, a bar with an estimate on a terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli.progress import Estimate, Progress, in_words
from harness.evidence.provenance import FILE, EvidenceProvenance, Provenance, TargetRecord
from harness.ground import files
from harness.machine import target
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from harness.run.durations import earlier
from tests.support.bench import WELL, Bench
from tests.support.manifests import GOOD, written
from tests.support.pages import cell_provenance


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Slow and fast, fast and slow."""
    return plan(manifest.load(written(tmp_path, GOOD)), Selected(rounds=2), "cpu")


def shown(cells: list[Cell], console: Console) -> int:
    with Progress(cells, {("small", "slow", "timing"): 100.0}, console=console) as progress:
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
    estimate = Estimate(cells, {("small", "slow", "timing"): 100.0})
    assert estimate.left(0.0) == 4 * 100.0  # nothing else is known of the fast ones
    estimate.start(slow, 0.0)
    estimate.end(slow, 60.0)
    assert estimate.left(60.0) == 100.0 + 2 * 60.0
    estimate.start(fast, 60.0)
    assert estimate.left(70.0) == 100.0 + 60.0 + (60.0 - 10.0)
    assert estimate.left(1000.0) == 100.0 + 60.0  # it takes longer than expected
    estimate.end(fast, 20.0)
    assert estimate.left(1000.0) == 100.0 + (60.0 + 20.0) / 2


def test_jobs_side_by_side_take_their_share_of_the_time(cells: list[Cell]) -> None:
    known = {("small", "slow", "timing"): 100.0, ("small", "fast", "timing"): 50.0}
    assert Estimate(cells, known, jobs=3).left(0.0) == 300.0 / 3


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3540, "59 min"), (11_100, "3 h 5 min")],
)
def test_a_duration_is_as_exact_as_an_estimate(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_durations_are_those_of_the_newest_run_on_this_machine(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast="exit 1")
    here, runs, reports = target.detect().cpu, tmp_path / "runs", tmp_path / "reports"
    assert earlier(runs, reports, "9-example", here, bench.cells) == {}
    bench.execute()
    ((_, record),) = ((path, record) for path, record in bench.run.records() if record.ok)
    bench.run.folder.rename(runs / "9-example" / "20250101-000000")
    assert earlier(runs, reports, "9-example", here, bench.cells) == {
        ("small", "slow", "timing"): record.wall_s  # the fast cell failed
    }
    assert earlier(runs, reports, "9-example", "another CPU", bench.cells) == {}
    newer = Bench(tmp_path, slow=f"sleep 0.2; {WELL}", fast=WELL)
    newer.execute()
    (runs / "9-example" / "99990101-000000").mkdir()
    (runs / "9-example" / "99990101-000000" / "run.json").write_text("{")
    seconds = {record.variant: record.wall_s for _, record in newer.run.records()}
    assert earlier(runs, reports, "9-example", here, newer.cells) == {
        ("small", variant, "timing"): wall for variant, wall in seconds.items()
    }


def test_what_no_run_holds_is_looked_up_in_the_report_of_this_machine(tmp_path: Path) -> None:
    cells = plan(manifest.load(written(tmp_path, GOOD)), Selected(rounds=2), "cpu")
    for name, target_name, seconds in (("here", "a CPU", 3.0), ("there", "another", 5.0)):
        place = TargetRecord(name=target_name, slug=name, device="cpu")
        known = provenance_record(place, cells[0].name, seconds)
        (folder := tmp_path / "reports" / "9-example" / name / "evidence").mkdir(parents=True)
        files.write_json(folder / FILE, known.as_json())
    found = earlier(tmp_path / "runs", tmp_path / "reports", "9-example", "a CPU", cells)
    assert found == {("small", "slow", "timing"): 3.0}


def provenance_record(target: TargetRecord, cell: str, seconds: float) -> EvidenceProvenance:
    run = Provenance(version=1, id="now", problem="9-example", target=target)
    known = cell_provenance(cell, None).model_copy(update={"wall_s": seconds})
    return EvidenceProvenance(run=run, cells=(known,))
