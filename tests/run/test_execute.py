"""Executing a plan with an engine of small scripts in place of torch."""

import errno
import math
import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.evidence.cell_record import WorkloadRecord
from harness.evidence.provenance import RunArguments
from harness.ground import files, process, program
from harness.ground.errors import CaptureError, StoreError, ToolError, UsageError
from harness.machine import gpu_lock
from harness.machine.host import Host
from harness.machine.target import Target
from harness.run import provenance, session
from harness.store import run_folder, run_lock
from tests.support import rivals
from tests.support.bench import WELL, Bench

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        ("echo out of memory >&2; exit 1", "failed", "out of memory"),
        ("exit 0", "failed", "exited well but left no workload.json"),
        ("kill -9 $$", "failed", ""),
        ("echo '{' > $OUT/workload.json", "failed", "not readable as JSON"),
        ("sleep 30", "timeout", ""),
    ],
)
def test_a_cell_that_fails_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, script: str, status: str, reason: str
) -> None:
    bench = Bench(tmp_path, slow=script, fast=WELL)
    bench.cells = [replace(cell, deadline_s=1.0) for cell in bench.cells]
    assert bench.execute() == {"slow": status, "fast": "ok"}
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert reason in record.reason
    assert record.workload == WorkloadRecord()


@pytest.mark.parametrize(
    ("results", "named"),
    [
        ('"samples": [{"region": "r", "metric": "speed", "value": NaN}]', "speed of r) is nan"),
        ('"samples": [{"region": "r", "metric": "speed", "value": 1e999}]', "speed of r) is inf"),
        ('"facts": [{"name": "size", "unit": "B", "value": -Infinity}]', "(size) is -inf"),
        ('"declared": {"step": NaN}', "declared.step is nan"),
        ('"of a later harness": {"a": [NaN]}', "of a later harness.a.0 is nan"),
    ],
)
def test_a_number_that_is_none_fails_its_cell_alone(
    tmp_path: Path, results: str, named: str
) -> None:
    bench = Bench(tmp_path, slow=f"echo '{{{results}}}' > $OUT/workload.json", fast=WELL)
    for _ in range(2):  # resumed, it goes on as well
        assert bench.execute() == {"slow": "failed", "fast": "ok"}
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert named in record.reason
    assert bench.engine.ran == ["slow", "fast", "slow"]


def test_a_parameter_that_is_no_number_fails_its_cell_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    bench.cells = [
        replace(cell, params={"scales": [1.0, math.inf]}) if cell.variant == "slow" else cell
        for cell in bench.cells
    ]
    assert bench.execute() == {"slow": "failed", "fast": "ok"}
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert record.reason == "params.scales.1 is inf, not a finite number"
    assert bench.engine.ran == ["fast"]


def test_a_full_disk_fails_the_cell_that_filled_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, slow=f"echo much > $OUT/much; {WELL}", fast=WELL)
    write_json = files.write_json

    def full(target: Path, value: Mapping[str, object]) -> None:
        if (target.parent / "much").exists():
            raise files.not_written(target, OSError(errno.ENOSPC, "No space left on device"))
        write_json(target, value)

    monkeypatch.setattr(files, "write_json", full)
    for _ in range(2):  # resumed, it goes on as well
        assert bench.execute() == {"slow": "failed", "fast": "ok"}
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert record.reason == "not written: No space left on device"
    assert not list(bench.run.folder.rglob("much"))


def test_what_fails_is_ended_and_what_ends_well_is_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow="echo cannot connect; echo See --help; exit 125", fast=WELL)
    bench.engine.still = "container slow would not stop"
    assert bench.execute() == {"slow": "failed", "fast": "ok"}
    assert bench.engine.ended == ["slow"]
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert record.reason == "the engine is down; container slow would not stop"


def test_users_of_a_machine_share_the_lock(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Bench(tmp_path, slow=WELL, fast=WELL).execute()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "harness-cpu.lock").stat().st_mode) == 0o666


def test_a_lock_that_cannot_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    monkeypatch.setattr(gpu_lock, "FOLDER", tmp_path / "absent")
    with pytest.raises(ToolError, match=r"harness-cpu\.lock: .*No such file.*as root.* -m 1777"):
        bench.execute()


def test_resume_runs_only_what_is_missing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow='test -e "$SCRATCH/again" && ' + WELL, fast=WELL)
    assert bench.execute() == {"slow": "failed", "fast": "ok"}
    (bench.run.folder / "scratch" / "again").touch()
    bench.engine.ran.clear()
    assert bench.execute() == {"slow": "ok", "fast": "ok"}
    assert bench.engine.ran == ["slow"]


def test_time_spent_waiting_for_a_turn_is_no_part_of_the_deadline(tmp_path: Path) -> None:
    waits = 'mkdir "$OUT/waiting"; sleep 3; rmdir "$OUT/waiting"; '
    bench = Bench(tmp_path, slow=waits + WELL, fast=waits + "sleep 60")
    bench.cells = [replace(cell, deadline_s=1.5) for cell in bench.cells]
    assert bench.execute() == {"slow": "ok", "fast": "timeout"}


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MOST_WAITING", 2)
    bench = Bench(tmp_path, slow=WELL, fast='mkdir "$OUT/waiting"; sleep 60')
    bench.cells = [replace(cell, deadline_s=0.5) for cell in bench.cells]
    assert bench.execute() == {"slow": "ok", "fast": "timeout"}


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupt_leaves_a_run_that_can_go_on(tmp_path: Path, jobs: int) -> None:
    bench = Bench(tmp_path, slow=WELL, fast="sleep 60")
    work = bench.execution(jobs)
    threading.Timer(1.0, work.interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        work.execute(bench.cells)
    assert {record.variant for _, record in bench.run.records()} == {"slow"}
    assert not list((bench.run.folder / "cells").glob(".*"))
    bench.engine.scripts["fast"] = WELL
    assert bench.execute() == {"slow": "ok", "fast": "ok"}


def test_only_one_run_holds_a_gpu(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    with bench.engine.node.hold_gpus(1), pytest.raises(ToolError, match="another run"):
        bench.execute()


def test_every_process_of_a_run_carries_its_token(tmp_path: Path) -> None:
    says = 'echo $HARNESS_RUN > "$OUT/token"; test -e "$SCRATCH/again" && ' + WELL
    bench = Bench(tmp_path, slow=says, fast=WELL + '; echo $HARNESS_RUN > "$OUT/token"')
    bench.execute()
    (bench.run.folder / "scratch" / "again").touch()
    tokens = {(path / "token").read_text().strip() for path, _ in bench.run.records()}
    bench.execute()
    tokens |= {(path / "token").read_text().strip() for path, _ in bench.run.records()}
    with bench.run.alone() as token:
        assert tokens == {token}
    assert all(process.RUN not in record.command.env for _, record in bench.run.records())


def test_an_artifact_that_changed_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL + "; echo data > $OUT/data.txt", fast=WELL)
    bench.execute()
    path, record = next(cell for cell in bench.run.records() if cell[1].variant == "slow")
    assert run_folder.verified(path, record, "data.txt").read_text() == "data\n"
    (path / "data.txt").write_text("dada\n")
    with pytest.raises(CaptureError, match="changed since it was recorded"):
        run_folder.verified(path, record, "data.txt")


def test_an_artifact_that_a_link_replaced_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL + "; echo data > $OUT/data.txt", fast=WELL)
    bench.execute()
    path, record = next(cell for cell in bench.run.records() if cell[1].variant == "slow")
    (path / "data.txt").rename(tmp_path / "data.txt")
    (path / "data.txt").symlink_to(tmp_path / "data.txt")
    with pytest.raises(CaptureError, match="a link, not a regular file"):
        run_folder.verified(path, record, "data.txt")
    outside = f"../{path.name}/log.txt"
    known = record.model_copy(update={"artifacts": {outside: record.artifacts["log.txt"]}})
    with pytest.raises(CaptureError, match="left no such file"):
        run_folder.verified(path, known, outside)


def test_a_run_goes_on_only_on_the_same_kind_of_machine(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    cpu = bench.engine.node.target
    provenance.check_resumable(bench.run, bench.problem, cpu)
    origin = provenance.origin_of(bench.problem, bench.engine, RunArguments(jobs=1))
    provenance.note_resumed(bench.run, origin)
    assert len(files.read_json(bench.run.folder / "run.json")["resumed"]) == 1
    with pytest.raises(UsageError, match="the run's target is"):
        provenance.check_resumable(bench.run, bench.problem, replace(cpu, cpu="another"))


def test_a_resume_that_is_refused_is_not_noted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    origin = provenance.origin_of(bench.problem, bench.engine, RunArguments(jobs=1))
    with run_lock.held(bench.run.folder), pytest.raises(StoreError, match="another harness"):
        rivals.resume(bench, origin)
    assert bench.run.provenance.resumed == ()
    rivals.resume(bench, origin)
    assert len(bench.run.provenance.resumed) == 1


def test_what_a_dry_run_prints_does_the_cell(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    lines = list(session.pasteable(bench.engine, bench.cells))
    assert lines[0] == f"# {bench.cells[0].id}"
    assert lines[1].startswith("mkdir -p ")
    assert len(lines) == 2 * len(bench.cells)


def test_a_run_holds_as_many_gpus_as_a_cell_uses(tmp_path: Path, with_gpu: Target) -> None:
    second = replace(with_gpu.gpus[0], uuid="GPU-5678")
    bench = Bench(tmp_path, slow=WELL, fast=WELL)
    node = Host(replace(with_gpu, more_gpus=(second,)))
    bench.engine.node = node
    bench.cells = [replace(bench.cells[0], gpus=2)]
    with gpu_lock.held("GPU-5678"), pytest.raises(ToolError, match=r"another run.* holds GPU-5678"):
        bench.execute()
