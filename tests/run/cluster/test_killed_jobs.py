"""Jobs that are killed at random moments: no cell is lost, and none is done again once landed."""

import contextlib
import random
import re
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines.options import Options
from harness.ground import checkout, files
from harness.problem.plan import Selected
from harness.run.cluster import session
from harness.run.cluster.profile import Profile, Slurm
from harness.run.session import Request
from harness.store import run_folder
from harness.store.run_folder import Run, verified
from tests.support import part_process
from tests.support.battery import WHOLE, rounds, seeded
from tests.support.manifests import GOOD, written

KILLED = max(8, rounds(50))
CELLS = 4


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> session.OnCluster:
    """A request for four cells on a cluster of CPUs."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    problem = written(tmp_path / "problems", GOOD)
    program = tmp_path / "python"
    program.write_text(part_process.PYTHON)
    program.chmod(0o755)
    request = Request(str(problem), Selected(rounds=2), "local", Options(python=program))
    return session.session(request, Profile(slurm=Slurm()))


def executed(house: Path) -> Counter[str]:
    """Return how often each cell was executed."""
    path = house / "executed"
    text = path.read_text() if path.exists() else ""
    return Counter(re.findall(r"cells/\.?([\w.-]+?-[0-9a-f]{8})[./]", text))


def landed(run: Run) -> dict[str, str]:
    """Return the hash of each record that landed."""
    paths = run.folder.glob(f"cells/[!.]*/{run_folder.RECORD}")
    return {path.parent.name: files.sha256(path) for path in paths}


def killed_once(asked: session.OnCluster, folder: Path, cells: int, after_s: float) -> int:
    """Kill a job and run it again to the end; return how many cells had landed before.

    It is killed some seconds after it began that many cells, however slow the machine is.
    """
    house = folder / "house"
    house.mkdir(parents=True)
    program = house / "python"
    program.write_text(part_process.PYTHON)
    program.chmod(0o755)
    request = replace(asked.request, options=Options(python=program))
    (part,) = part_process.carried(replace(asked, request=request))
    run = Run.open(part.run)
    first = part_process.started(part, folder / "first")
    while first.poll() is None and executed(house).total() < cells:
        time.sleep(0.01)
    with contextlib.suppress(subprocess.TimeoutExpired):
        first.wait(after_s)
    first.kill()
    first.wait()
    before, done = landed(run), executed(house)
    second = part_process.started(part, folder / "second")
    second.wait(60)
    log = (folder / "second" / "log.txt").read_text()
    assert second.returncode == 0, log
    after = landed(run)
    assert before.items() <= after.items(), "a cell that had landed was replaced"
    again = executed(house)
    assert {name: again[name] for name in before} == {name: done[name] for name in before}
    assert {record.status for _, record in run.records()} == {"ok"}
    assert after.keys() == part.names.keys()
    for cell, record in run.records():
        for name in record.artifacts:
            verified(cell, record, name)
    return len(before)


@pytest.mark.slow
def test_no_cell_is_lost_or_done_twice(asked: session.OnCluster, tmp_path: Path) -> None:
    draw = random.Random(seeded(24))
    moments = [(0, 0.0), (CELLS, 60.0)]
    for _ in range(KILLED - len(moments)):
        cells = draw.randint(0, CELLS)  # with 0 at any moment of the start, too
        moments.append((cells, draw.uniform(0.0, 0.1 if cells else 4.0)))
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(killed_once, asked, tmp_path / f"{number}", *moment)
            for number, moment in enumerate(moments)
        ]
        had_landed = Counter(job.result() for job in jobs)
    # The kills were spread: before the first cell, between cells, and after the last.
    assert had_landed.keys() >= {0, CELLS}
    assert len(had_landed) > 2 or not WHOLE, had_landed


def test_a_file_system_without_locks_is_enough(asked: session.OnCluster, tmp_path: Path) -> None:
    (part,) = part_process.carried(asked)
    job = part_process.started(part, tmp_path / "node")
    job.wait(60)
    run = Run.open(part.run)
    assert len(landed(run)) == CELLS, (tmp_path / "node" / "log.txt").read_text()
    # The node's own run has a lock; the run that nodes share has none, and nobody asked for one.
    assert not list(run.folder.rglob("lock"))
    assert not list(run.folder.glob("scratch"))
