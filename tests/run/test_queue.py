"""Which cell starts next, beside which others, and what an export holds up."""

import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from harness.engines.engine import Command, lock_name
from harness.machine import room
from harness.machine.target import Target
from harness.problem.plan import Cell, Selected, plan
from harness.run import attempt
from harness.run.queue import Queue, most_jobs
from tests.support.bench import WELL, Bench, Scripts
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Slow and fast, then fast and slow."""
    return Bench(tmp_path, slow=WELL, fast=WELL, rounds=2).cells


def started(queue: Queue) -> list[str]:
    """Take every cell that may start now."""
    cells = iter(queue.offer, None)
    return [f"{cell.variant} {cell.round}" for cell in cells if cell]


def test_rounds_of_a_variant_wait_for_the_first_that_fills_its_caches(
    cells: list[Cell], with_gpu: Target
) -> None:
    assert started(Queue(cells, 4, with_gpu, caches=True)) == ["slow 0", "fast 0"]
    queue = Queue(cells, 4, with_gpu, caches=True)
    first, second = queue.take(), queue.take()
    assert first and second
    queue.leave(second)
    queue.leave(second)
    assert started(queue) == ["fast 1"]


def test_variants_of_one_compiled_code_wait_for_the_first_of_them(
    cells: list[Cell], with_gpu: Target
) -> None:
    shared = [replace(cell, caches="slow") for cell in cells]
    queue = Queue(shared, 4, with_gpu, caches=True)
    first = queue.take()
    assert first and (first.variant, queue.offer()) == ("slow", None)
    queue.leave(first)
    assert started(queue) == ["fast 0", "fast 1", "slow 1"]


def test_without_caches_rounds_start_at_once_in_the_order_of_the_plan(
    cells: list[Cell], with_gpu: Target
) -> None:
    queue = Queue(cells, 4, with_gpu, caches=False)
    assert started(queue) == ["slow 0", "fast 0", "fast 1", "slow 1"]


def test_no_more_cells_start_than_jobs(cells: list[Cell], with_gpu: Target) -> None:
    assert len(started(Queue(cells, 3, with_gpu, caches=False))) == 3


def test_a_cell_that_is_alone_has_nobody_beside_it(cells: list[Cell], with_gpu: Target) -> None:
    cells[1] = replace(cells[1], alone=True)
    assert started(Queue(cells, 4, with_gpu, caches=False)) == ["fast 0"]
    queue = Queue(cells, 4, with_gpu, caches=False)
    alone = queue.take()
    assert alone
    queue.leave(alone)
    assert started(queue) == ["slow 0", "fast 1", "slow 1"]


def test_cells_that_load_the_host_follow_those_alone_with_nobody_beside_them(
    cells: list[Cell], with_gpu: Target
) -> None:
    cells[1] = replace(cells[1], loads_host=True)
    cells[2] = replace(cells[2], alone=True)
    queue = Queue(cells, 4, with_gpu, caches=False)
    for name in ("fast 1", "fast 0"):
        first = queue.take()
        assert first and f"{first.variant} {first.round}" == name
        assert queue.offer() is None
        queue.leave(first)
    assert started(queue) == ["slow 0", "slow 1"]


def test_cells_side_by_side_fit_into_the_gpus_memory(cells: list[Cell], with_gpu: Target) -> None:
    assert with_gpu.gpu
    third = [replace(cell, gpu_bytes=with_gpu.gpu.memory_bytes / 3) for cell in cells]
    assert len(started(Queue(third, 4, with_gpu, caches=False))) == 2
    beyond = [replace(cell, gpu_bytes=2.0 * with_gpu.gpu.memory_bytes) for cell in cells]
    assert len(started(Queue(beyond, 4, with_gpu, caches=False))) == 1


@pytest.mark.parametrize(
    ("cores", "free_gib", "jobs"), [(16, 512, 8), (64, 64, 8), (1, 512, 1), (16, 4, 1)]
)
def test_jobs_are_what_cores_and_free_memory_bear(
    with_gpu: Target, monkeypatch: pytest.MonkeyPatch, cores: int, free_gib: int, jobs: int
) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: free_gib << 30)
    assert most_jobs(replace(with_gpu, cores=cores)) == jobs
    assert most_jobs(replace(with_gpu, cores=cores, gpu=None)) == 1


class Exporting(Scripts):
    """First rounds leave a report whose export ends only when a second round has run."""

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        wait = f"until test -e {out.parent.parent}/again; do sleep 0.02; done"
        return [Command(["bash", "-c", wait], {}, out)] if cell.round == 0 else []

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        again = f"; touch {out.parent.parent}/again" if cell.round else ""
        self.ran.append(f"{cell.variant} {cell.round}")
        return Command(["bash", "-c", WELL + again], {"OUT": str(out)}, out)


def test_an_export_holds_up_no_other_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "_EXPORT_DEADLINE_S", 20)
    bench = Bench(tmp_path, slow=WELL, fast=WELL, rounds=2)
    bench.engine = Exporting({}, bench.engine.node)
    bench.execution(jobs=2).execute(bench.cells)
    statuses = Counter(record.status for _, record in bench.run.records())
    assert statuses == {"ok": 4}
    assert sorted(bench.engine.ran) == ["fast 0", "fast 1", "slow 0", "slow 1"]


MEASURES = """
import json, sys, time
from pathlib import Path
from harness.probe.turn import Turn
turn = Turn(Path(sys.argv[1]), alone=False, sign=Path(sys.argv[2], "waiting"))
turn.tune()
turn.end_tuning()
with turn.exclusively():
    window = [time.time(), None, "step"]
    time.sleep(0.05)
    window[1] = time.time()
turn.leave()
process = {"started": window[0] - 1, **turn.end()}
known = {"windows": [window], "process": process}
Path(sys.argv[2], "workload.json").write_text(json.dumps(known))
"""


class Measuring(Scripts):
    """Cells take turns as a workload's cells do."""

    keeps_caches = False

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        lock = scratch / "locks" / lock_name(self.node.target)
        argv = [sys.executable, "-c", MEASURES, str(lock), str(out)]
        return Command(argv, {"PYTHONPATH": str(ROOT)}, out)


def test_cells_side_by_side_measure_one_after_another(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL, rounds=4)
    bench.engine = Measuring({}, bench.engine.node)
    bench.execution(jobs=4).execute(bench.cells)
    records = [record for _, record in bench.run.records()]
    assert [record.status for record in records] == ["ok"] * 8
    windows = sorted(record.workload.windows[0][:2] for record in records)
    assert all(before[1] <= after[0] for before, after in pairwise(windows))
    lives = sorted((record.started, record.started + record.wall_s) for record in records)
    assert any(before[1] > after[0] for before, after in pairwise(lives))  # they did overlap


@pytest.mark.parametrize(("of_variant", "taken"), [(None, 25.5), (20.0, 20.0), (40.0, 25.5)])
def test_a_cell_takes_the_gpu_memory_of_its_case_or_less_if_its_variant_says_so(
    tmp_path: Path, of_variant: float | None, taken: float
) -> None:
    problem = Bench(tmp_path, slow=WELL, fast=WELL).problem
    large = problem.cases["small"].model_copy(update={"gpu_memory_gb": 25.5})
    slow = problem.variants["slow"].model_copy(update={"gpu_memory_gb": of_variant})
    both = {"slow": slow, "fast": slow}
    changed = problem.model_copy(update={"cases": {"small": large}, "variants": both})
    assert {cell.gpu_bytes for cell in plan(changed, Selected(), "cuda")} == {taken * 1e9}


def test_cells_are_withdrawn_only_while_all_of_them_wait(
    cells: list[Cell], with_gpu: Target
) -> None:
    queue = Queue(cells, 1, with_gpu, caches=False)
    first = queue.take()
    assert first == cells[0]
    assert not queue.withdraw(cells[:2])
    assert queue.withdraw(cells[2:])
    assert not queue.withdraw(cells[2:])
    queue.leave(first)
    assert queue.take() == cells[1]
    queue.leave(cells[1])
    assert queue.take() is None
    assert Queue(cells, 1, with_gpu, caches=False).withdraw(cells)
    closed = Queue(cells, 1, with_gpu, caches=False)
    closed.close()
    assert not closed.withdraw(cells)
