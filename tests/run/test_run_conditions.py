"""What a run notes of the conditions of its cells: a doubtful one runs again, pauses are told."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.engines.engine import Command
from harness.ground import files
from harness.machine.monitor import GpuSample
from harness.machine.target import Target
from harness.problem.plan import Cell
from harness.run import attempt, pauses
from tests.support.bench import WELL, Bench, Watched

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")

Samples = list[GpuSample]


def samples(count: int, *reasons: str) -> Samples:
    return [GpuSample(float(at), {"sm_mhz": 1980.0}, reasons, ()) for at in range(count)]


QUIET = samples(10)
CAPPED = samples(10, "power cap")
WHY = ["power cap in 10 of 10 looks"]


def one_cell(tmp_path: Path, target: Target, *attempts: Samples, script: str = WELL) -> Bench:
    bench = Bench(tmp_path, slow=script, fast=WELL, node=Watched(target, list(attempts)))
    bench.cells = [cell for cell in bench.cells if cell.variant == "slow"]
    return bench


def recorded(bench: Bench) -> dict[str, Any]:
    bench.execute()
    ((_, record),) = bench.run.records()
    return record.as_json()


def test_a_doubtful_cell_runs_again_and_the_first_doubt_is_kept(
    tmp_path: Path, with_gpu: Target
) -> None:
    bench = one_cell(tmp_path, with_gpu, CAPPED, QUIET)
    record = recorded(bench)
    assert (record["doubts"], record["retried"]) == ([], WHY)
    assert record["seen"]["throttle_reasons"] == {}
    assert bench.engine.ran == ["slow", "slow"]
    assert bench.notes == ["slow running", "slow ok"]


def test_what_stays_doubtful_is_not_run_a_third_time(tmp_path: Path, with_gpu: Target) -> None:
    bench = one_cell(tmp_path, with_gpu, CAPPED, samples(8, "power cap"), QUIET)
    record = recorded(bench)
    assert (record["doubts"], record["retried"]) == (["power cap in 8 of 8 looks"], WHY)
    assert bench.engine.ran == ["slow", "slow"]


def test_what_compares_within_itself_is_not_run_again(tmp_path: Path, with_gpu: Target) -> None:
    bench = one_cell(tmp_path, with_gpu, CAPPED)
    bench.cells = [replace(cell, paired=True) for cell in bench.cells]
    record = recorded(bench)
    assert (record["doubts"], record["retried"]) == (WHY, [])
    assert bench.engine.ran == ["slow"]


def variants(tmp_path: Path, target: Target, *attempts: Samples) -> Bench:
    """Return cells of two variants of one case, and what is seen in their attempts in order."""
    bench = Bench(tmp_path, slow=WELL, fast=WELL, node=Watched(target, list(attempts)))
    assert {cell.case for cell in bench.cells} == {bench.cells[0].case}
    return bench


def test_a_cap_that_stayed_in_one_cells_repetition_is_no_reason_to_repeat_the_next(
    tmp_path: Path, with_gpu: Target
) -> None:
    bench = variants(tmp_path, with_gpu, CAPPED, CAPPED, CAPPED)
    bench.execute()
    assert bench.engine.ran == ["slow", "slow", "fast"]
    records = {record.variant: record for _, record in bench.run.records()}
    assert (records["slow"].doubts, records["slow"].retried) == (tuple(WHY), tuple(WHY))
    assert (records["fast"].doubts, records["fast"].retried) == (tuple(WHY), ())


def test_side_by_side_the_second_waits_for_what_comes_of_the_firsts_repetition(
    tmp_path: Path, with_gpu: Target
) -> None:
    bench = variants(tmp_path, with_gpu, CAPPED, CAPPED, CAPPED)
    bench.execute(jobs=2)
    assert len(bench.engine.ran) == 3


def test_a_run_that_goes_on_knows_which_cap_stayed(tmp_path: Path, with_gpu: Target) -> None:
    bench = variants(tmp_path, with_gpu, CAPPED, CAPPED, CAPPED)
    for cell in bench.cells:
        bench.execution().execute([cell])
    assert bench.engine.ran == ["slow", "slow", "fast"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param([CAPPED, QUIET], [CAPPED, QUIET], id="a cap that went away"),
        pytest.param([CAPPED] * 2, [samples(10, "thermal slowdown (hardware)")] * 2, id="heat"),
        pytest.param(
            [CAPPED] * 2,
            [samples(10, "power cap", "thermal slowdown (hardware)"), CAPPED],
            id="heat beside a cap",
        ),
        pytest.param(
            [samples(10, "power brake")] * 2, [samples(10, "power brake")] * 2, id="another's doing"
        ),
    ],
)
def test_what_a_repetition_may_cure_is_repeated(
    tmp_path: Path, with_gpu: Target, first: list[Samples], then: list[Samples]
) -> None:
    bench = variants(tmp_path, with_gpu, *first, *then)
    bench.execute()
    assert bench.engine.ran == ["slow", "slow", "fast", "fast"]


@pytest.mark.parametrize(
    ("seen", "doubts"),
    [
        (QUIET, []),
        ([], None),  # not watched: nothing is known, which is no reason to measure again
    ],
)
def test_a_cell_without_a_doubt_runs_once(
    tmp_path: Path, with_gpu: Target, seen: Samples, doubts: list[str] | None
) -> None:
    bench = one_cell(tmp_path, with_gpu, seen)
    record = recorded(bench)
    assert (record["doubts"], record["retried"]) == (doubts, [])
    assert bench.engine.ran == ["slow"]


@pytest.mark.parametrize("why", ["it failed", "it is profiled", "there is no GPU"])
def test_only_times_that_were_measured_on_a_gpu_are_doubted(
    tmp_path: Path, with_gpu: Target, why: str
) -> None:
    script = "exit 1" if why == "it failed" else WELL + "; echo x > $OUT/memory.json.gz"
    machine = replace(with_gpu, gpu=None) if why == "there is no GPU" else with_gpu
    bench = one_cell(tmp_path, machine, CAPPED, script=script)
    if why == "it is profiled":
        bench.cells = [replace(cell, capture="memory") for cell in bench.cells]
    record = recorded(bench)
    assert record["status"] == ("failed" if why == "it failed" else "ok")
    assert (record["doubts"], record["retried"]) == ([], [])
    assert bench.engine.ran == ["slow"]


def test_what_was_seen_outside_the_measurement_is_no_doubt(
    tmp_path: Path, with_gpu: Target
) -> None:
    measuring = [replace(sample, at=sample.at + 100) for sample in QUIET]
    script = WELL.replace('"facts"', '"windows": [[100, 109, "r"]], "facts"')
    record = recorded(one_cell(tmp_path, with_gpu, [*CAPPED, *measuring], script=script))
    assert record["doubts"] == []
    assert record["seen"]["samples"] == 10


def test_a_second_try_that_fails_leaves_the_first_and_its_doubts(
    tmp_path: Path, with_gpu: Target
) -> None:
    mark = "$SCRATCH/again"
    second = f"test ! -e {mark} || {{ echo no luck >&2; exit 3; }}"
    first = f"touch {mark}; echo 1 > $OUT/one"
    bench = one_cell(tmp_path, with_gpu, CAPPED, QUIET, script=f"{second}; {first}; {WELL}")
    record = recorded(bench)
    assert (record["status"], record["doubts"]) == ("ok", WHY)
    assert record["retried"] == ["the second try failed: no luck"]
    ((folder, _),) = bench.run.records()
    assert (folder / "one").read_text() == "1\n"
    assert not list((bench.run.folder / "scratch" / "tmp").iterdir())


def test_nothing_of_the_first_try_is_left(tmp_path: Path, with_gpu: Target) -> None:
    mark = "$SCRATCH/again"
    script = f"test -e {mark} || echo x > $OUT/first.txt; touch {mark}; {WELL}"
    bench = one_cell(tmp_path, with_gpu, CAPPED, QUIET, script=script)
    record = recorded(bench)
    assert set(record["artifacts"]) == {"log.txt"}
    assert not (bench.run.cell(record["id"]) / "first.txt").exists()


class Clock:
    """Time passes where a test says so: between cells and within them."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.between, self.within = 7.5, 100.0
        self._bench = bench
        monkeypatch.setattr(pauses, "time", SimpleNamespace(time=lambda: self.now))
        monkeypatch.setattr(attempt, "time", SimpleNamespace(time=lambda: self.now))
        monkeypatch.setattr(bench.engine, "begin", self._begin)

    def execute(self, cells: list[Cell]) -> list[float | None]:
        """Run cells and return their pauses, in the order that they ran."""
        bench = self._bench
        bench.execution(notify=self._notify).execute(cells)
        paths = [bench.run.cell(cell.id) / "cell.json" for cell in cells]
        return [files.read_json(path)["idle_s"] for path in paths]

    def _notify(self, _cell: Cell, status: str, _seconds: float) -> None:
        if status == "running":
            self.now += self.between

    def _begin(self, _command: Command) -> None:
        self.now += self.within


def test_the_pause_before_a_cell_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, slow="exit 1", fast=WELL, rounds=2)
    clock = Clock(bench, monkeypatch)
    # The first has none before it. One that fails has kept the GPU from resting all the same.
    assert clock.execute(bench.cells) == [None, 7.5, 7.5, 7.5]


def test_a_run_that_goes_on_has_paused_since_its_last_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    clock = Clock(bench, monkeypatch)
    clock.within = 0.0  # a record's wall_s is the process's own, not this clock's
    first, second = bench.cells
    clock.execute([first])
    path = bench.run.cell(first.id) / "cell.json"
    files.write_json(path, files.read_json(path) | {"wall_s": 50.0})
    clock.now += 3600
    assert clock.execute([second]) == [3600 + 7.5 - 50]


def test_a_second_try_has_its_own_pause(
    tmp_path: Path, with_gpu: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = one_cell(tmp_path, with_gpu, CAPPED, QUIET)
    assert Clock(bench, monkeypatch).execute(bench.cells) == [0.0]


def test_beside_another_cell_there_is_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(pauses, "time", SimpleNamespace(time=lambda: clock.now))
    between = pauses.Pauses()
    with between.ended():
        pass
    clock.now += 5
    with between.ended() as alone, between.ended() as beside:
        pass
    clock.now += 2
    with between.ended() as after:
        pass
    assert (alone, beside, after) == (5.0, 0.0, 2.0)


def test_a_record_says_where_the_cells_seconds_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = {"started": 1000.5, "loaded": 1004.0, "ended": 1030.0, "spent": {"measure": 26.0}}
    script = WELL.replace('"facts"', f'"process": {json.dumps(process)}, "facts"')
    bench = Bench(tmp_path, slow=script, fast=WELL)
    clock = Clock(bench, monkeypatch)
    clock.between, clock.within = 0.0, 31.5
    clock.execute(bench.cells)
    phases = {record.variant: record.phases for _, record in bench.run.records()}
    assert phases["fast"] == {}
    expected = {"start": 0.5, "import": 3.5, "measure": 26.0, "end": 1.5, "export": 0.0}
    assert phases["slow"] == expected
    assert sum(expected.values()) == 31.5  # all of it is accounted for
