"""No two runs share a GPU, no two harnesses a run, no two runs a folder: races and kills."""

import random
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.evidence.provenance import RunArguments
from harness.run import provenance
from harness.store.run_folder import Run
from tests.support import rivals
from tests.support.battery import WHOLE, Figures, rounds, seeded
from tests.support.bench import WELL, Bench
from tests.support.origins import origin
from tests.support.rivals import Rival, Task

SEED = seeded(20)
GPU_HELD = re.compile(
    r"BusyError 1: another run(, process \d+,)? holds cpu \(wait for it to end, or stop it\)"
)
RUN_HELD = re.compile(
    r"StoreError 2: \S+: another harness(, process \d+,)? executes this run "
    r"\(wait for it to end, or stop it\)"
)


def bench(folder: Path, log: Path, seconds: float) -> Bench:
    """Cells that say in ``log`` when they run and whether another cell runs beside them."""
    script = (
        f'exec 9>>"{log}.witness"; flock --nonblock 9 || echo overlap >> "{log}"; '
        f'echo "${{OUT##*/}}" >> "{log}"; sleep {seconds}; {WELL}'
    )
    folder.mkdir()
    return Bench(folder, slow=script, fast=script)


def raced(racers: list[Rival], tasks: list[Task]) -> list[str]:
    for racer, task in zip(racers, tasks, strict=True):
        racer.begin(task)
    return [racer.answer() for racer in racers]


def forget(made: Bench) -> None:
    shutil.rmtree(made.run.folder / "cells", ignore_errors=True)


def one_cell_each(tmp_path: Path, log: Path, count: int) -> list[Bench]:
    benches = [bench(tmp_path / f"run-{number}", log, 0.02) for number in range(count)]
    for made in benches:
        made.cells = made.cells[:1]
    return benches


@pytest.mark.parametrize("count", [4, 8])
def test_of_harnesses_that_race_for_a_gpu_one_has_it(
    tmp_path: Path, figures: Figures, count: int
) -> None:
    chance, log = random.Random(SEED), tmp_path / "log"
    benches, answers = one_cell_each(tmp_path, log, count), Counter[str]()
    with rivals.rivals([tmp_path / "locks"] * count, tmp_path) as racers:
        for number in range(rounds(100)):
            latest = 0.5 * (number % 2)  # every second time they start at once
            tasks = [Task(rivals.execute, (made,), chance.uniform(0, latest)) for made in benches]
            told = raced(racers, tasks)
            answers.update("executed" if line == "done: executed" else "refused" for line in told)
            refused = [line for line in told if line != "done: executed"]
            assert "done: executed" in told
            assert all(GPU_HELD.fullmatch(line) for line in refused), refused
            for made in benches:
                forget(made)
    lines = Counter(log.read_text().splitlines())
    figures(rounds=rounds(100), **answers, overlaps=lines["overlap"])
    assert lines["overlap"] == 0
    assert lines.total() == answers["executed"]


def test_the_witness_sees_harnesses_that_share_no_lock(tmp_path: Path) -> None:
    log = tmp_path / "log"
    benches = one_cell_each(tmp_path, log, 4)
    with rivals.rivals([tmp_path / f"locks-{made}" for made in range(4)], tmp_path) as racers:
        for _ in range(5):
            raced(racers, [Task(rivals.execute, (made,)) for made in benches])
            for made in benches:
                forget(made)
    assert "overlap" in log.read_text().splitlines()


def test_a_killed_harness_leaves_the_gpu_when_its_cell_has_ended(
    tmp_path: Path, figures: Figures
) -> None:
    chance, log, killed = random.Random(SEED), tmp_path / "log", 0
    benches = one_cell_each(tmp_path, log, 3)
    locks = tmp_path / "locks"
    for _ in range(rounds(30)):
        with rivals.rivals([locks] * 3, tmp_path) as (first, second, third):
            first.begin(Task(rivals.execute, (benches[0],)))
            second.begin(Task(rivals.execute, (benches[1],), chance.uniform(0, 0.2)))
            third.begin(Task(rivals.execute, (benches[2],), chance.uniform(0, 0.2)))
            time.sleep(chance.uniform(0, 0.2))
            first.kill()
            told = [racer.answer() for racer in (first, second, third)]
            killed += told[0] == "killed"
            for line in told[1:]:
                assert line == "done: executed" or GPU_HELD.fullmatch(line), line
            second.begin(Task(rivals.execute, (benches[0],)))
            assert second.answer() == "done: executed"
        for made in benches:
            forget(made)
    lines = Counter(log.read_text().splitlines())
    figures(rounds=rounds(30), killed=killed, overlaps=lines["overlap"])
    assert killed or not WHOLE
    assert lines["overlap"] == 0


@pytest.mark.parametrize("count", [2, 4])
def test_of_harnesses_that_resume_a_run_one_executes_it(
    tmp_path: Path, figures: Figures, count: int
) -> None:
    chance, log, answers = random.Random(SEED), tmp_path / "log", Counter[str]()
    made = bench(tmp_path / "run", log, 0.0)
    call = provenance.origin_of(made.problem, made.engine, RunArguments(jobs=1))
    # Each has a GPU of its own: only the run's lock is in the way.
    with rivals.rivals([tmp_path / f"locks-{number}" for number in range(count)], tmp_path) as many:
        for number in range(rounds(30)):
            latest = 0.3 * (number % 2)
            made.run.note(made.run.provenance.model_copy(update={"resumed": ()}))
            told = raced(
                many,
                [Task(rivals.resume, (made, call), chance.uniform(0, latest)) for _ in many],
            )
            resumed = told.count("done: resumed")
            refused = [line for line in told if line != "done: resumed"]
            answers.update(resumed=resumed, refused=len(refused))
            assert resumed
            assert all(RUN_HELD.fullmatch(line) for line in refused), refused
            assert len(made.run.provenance.resumed) == resumed
            assert [record.status for _, record in made.run.records()] == ["ok", "ok"]
            assert not list((made.run.folder / "cells").glob(".*"))
            ran = Counter(log.read_text().splitlines())
            assert (ran["overlap"], ran.total()) == (0, 2), ran
            log.unlink()
            forget(made)
    figures(rounds=rounds(30), **answers)


@pytest.mark.parametrize("clocks", ["one clock", "clocks a day apart"])
def test_of_runs_that_begin_at_once_each_has_its_folder(
    tmp_path: Path, figures: Figures, clocks: str
) -> None:
    chance, day, made = random.Random(SEED), 86400.0, 0
    with rivals.rivals([tmp_path / "locks"] * 8, tmp_path) as racers:
        for number in range(rounds(20)):
            runs = tmp_path / f"runs-{number}"
            ahead = [chance.uniform(-day, day) * (clocks != "one clock") for _ in racers]
            tasks = [Task(rivals.create, (runs, origin(), 5, seconds)) for seconds in ahead]
            told = raced(racers, tasks)
            assert all(line.startswith("done: ") for line in told), told
            names = " ".join(line.removeprefix("done: ") for line in told).split()
            newest = rivals.create(runs, origin(), 1, chance.uniform(-day, day))
            assert Run.latest(runs, "9-example").folder.name == newest
            known = [folder.name for folder in Run.folders(runs, "9-example")]
            assert known == [Run.open(runs / "9-example" / name).provenance.id for name in known]
            assert sorted([*names, newest]) == sorted(known)
            made += len(known)
    figures(rounds=rounds(20), runs=made)
    assert made == rounds(20) * (8 * 5 + 1)
