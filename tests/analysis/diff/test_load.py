"""Two loads: the phases of a mean request, held against the driver's own lists."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.analysis.diff import load
from harness.cli.app import app
from harness.probe.load.driver import FILE, Recording, Slo, drive
from harness.probe.load.workload import fixed, poisson, requests
from tests.support.serving import Batching, Virtual, tables


def driven(most: int) -> Recording:
    clock = Virtual()
    return drive(Batching(clock, most), requests(40, poisson(4), (fixed(50), fixed(60)), 3), clock)


@pytest.fixture
def sides(tmp_path: Path) -> dict[str, Recording]:
    found = {"few": driven(2), "many": driven(8)}
    for name, recording in found.items():
        (tmp_path / name).mkdir()
        recording.save(tmp_path / name, Slo(500, 50))
    return found


def test_phases_are_those_of_the_requests_and_sum_up(
    sides: dict[str, Recording], tmp_path: Path
) -> None:
    diff = load.compare(*(tables(each, tmp_path, Slo(500, 50)) for each in sides.values()))
    for side, recording in enumerate(sides.values()):
        lives = list(recording.lives.values())[recording.warm_up() :]
        count = len(lives)
        assert diff.requests[side] == count
        begun = [life.admitted or 0 for life in lives]
        queued = sum(begun) - sum(life.request.due_ns for life in lives)
        prefill = sum(life.tokens[0] for life in lives) - sum(begun)
        decode = sum((life.ended or 0) - life.tokens[0] for life in lives)
        for name, ns in {"queued": queued, "prefill": prefill, "decode": decode}.items():
            assert diff.phases[name][side] == pytest.approx(ns / 1e6 / count)
        assert diff.whole[side] == pytest.approx((queued + prefill + decode) / 1e6 / count)


@pytest.mark.usefixtures("sides")
def test_the_command_names_the_phase_that_changed_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["diff", f"few/{FILE}", f"many/{FILE}"])
    assert shown.exit_code == 0
    assert "queued changed most, by \N{MINUS SIGN}" in " ".join(shown.stdout.split())
    assert "goodput" in shown.stdout


def test_a_load_in_which_nothing_ended_has_no_mean_request(tmp_path: Path) -> None:
    clock = Virtual()
    load_of_one = requests(1, poisson(4), (fixed(50), fixed(60)), 3)
    short = tables(drive(Batching(clock), load_of_one, clock, limit_s=0.3), tmp_path)
    diff = load.compare(short, tables(driven(8), tmp_path))
    assert diff.requests[0] == 0
    assert diff.whole[0] is None
    assert diff.phases["decode"][0] is None
