"""What earlier runs and reports tell of cells' durations."""

from pathlib import Path

import pytest

from harness.evidence.provenance import FILE, EvidenceProvenance, Provenance, TargetRecord
from harness.ground import files
from harness.machine import target
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from harness.run.durations import Duration, Known, known
from tests.support.bench import WELL, Bench
from tests.support.manifests import GOOD, written
from tests.support.pages import cell_provenance

SLOW, FAST = "small.slow.timing.r0", "small.fast.timing.r0"


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_durations_are_those_of_the_newest_run_on_this_machine(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast="exit 1")
    here, runs, reports = target.detect().cpu, tmp_path / "runs", tmp_path / "reports"
    assert known(runs, reports, "9-example", here, bench.cells) == Known({})
    bench.execute()
    ((_, record),) = ((path, record) for path, record in bench.run.records() if record.ok)
    bench.run.folder.rename(runs / "9-example" / "20250101-000000")
    found = known(runs, reports, "9-example", here, bench.cells)
    assert found == Known({SLOW: Duration(0.0, record.wall_s)})  # the fast cell failed
    assert known(runs, reports, "9-example", "another CPU", bench.cells) == Known({})
    newer = Bench(tmp_path, slow=f"sleep 0.2; {WELL}", fast=WELL)
    newer.execute()
    (runs / "9-example" / "99990101-000000").mkdir()
    (runs / "9-example" / "99990101-000000" / "run.json").write_text("{")
    seconds = {record.name: record.wall_s for _, record in newer.run.records()}
    assert set(seconds) == {SLOW, FAST}
    assert known(runs, reports, "9-example", here, newer.cells) == Known(
        {name: Duration(0.0, wall) for name, wall in seconds.items()}
    )


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Slow and fast, two rounds of each."""
    return plan(manifest.load(written(tmp_path, GOOD)), Selected(rounds=2), "cpu")


def reported(
    checkout: Path, machine: str, cell: str, wall_s: float, phases: dict[str, float]
) -> None:
    """Publish a report of a machine, which holds one cell."""
    place = TargetRecord(name=machine, slug=machine, device="cpu")
    run = Provenance(version=1, id="now", problem="9-example", target=place)
    took = {"wall_s": wall_s, "phases": phases}
    origin = EvidenceProvenance(
        run=run, cells=(cell_provenance(cell, None).model_copy(update=took),)
    )
    folder = checkout / "reports" / "9-example" / machine / "evidence"
    folder.mkdir(parents=True)
    files.write_json(folder / FILE, origin.as_json())


def looked_up(checkout: Path, machine: str, cells: list[Cell]) -> Known:
    return known(checkout / "runs", checkout / "reports", "9-example", machine, cells)


def test_what_no_run_holds_is_looked_up_in_reports_first_in_this_machine_s(
    tmp_path: Path, cells: list[Cell]
) -> None:
    reported(tmp_path, "another", FAST, 5.0, {})
    reported(tmp_path, "here", SLOW, 3.0, {})
    of_slow = {f"small.slow.timing.r{number}": Duration(0.0, 3.0) for number in (0, 1)}
    of_fast = {f"small.fast.timing.r{number}": Duration(0.0, 5.0) for number in (0, 1)}
    assert looked_up(tmp_path, "here", cells) == Known(of_slow | of_fast, "another")
    assert looked_up(tmp_path, "another", cells) == Known(of_slow | of_fast, "here")


def test_what_a_cell_waited_is_no_part_of_it_and_measuring_is_alone(
    tmp_path: Path, cells: list[Cell]
) -> None:
    phases = {"import": 2.0, "wait": 50.0, "set_up": 6.0, "tune": 8.0, "measure": 12.0, "end": 2.0}
    reported(tmp_path, "here", SLOW, sum(phases.values()), phases)
    found = looked_up(tmp_path, "here", cells).by_cell[SLOW]
    assert found == Duration(alone=20.0, beside=10.0)
    assert found.whole == 30.0


def test_a_round_that_was_not_run_takes_as_long_as_the_latest_that_was(
    tmp_path: Path, cells: list[Cell]
) -> None:
    reported(tmp_path, "there", SLOW, 90.0, {})  # compiles
    reported(tmp_path, "here", "small.slow.timing.r1", 4.0, {})
    first, second = (f"small.slow.timing.r{number}" for number in (0, 1))
    assert looked_up(tmp_path, "here", cells).by_cell == {
        first: Duration(0.0, 4.0),
        second: Duration(0.0, 4.0),
    }
    assert looked_up(tmp_path, "there", cells).by_cell[second] == Duration(0.0, 90.0)
