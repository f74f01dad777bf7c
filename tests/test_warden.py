"""The warden: it lets a program end well, ends whatever stays, and is not ended by either."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.ground import locks, process, program, warden
from harness.ground.checkout import CHECKOUT
from tests.support.spawned import UNIQUE, alive, run, wait_for

HARNESS = """
import sys
from pathlib import Path
from harness.ground import process
removal = [sys.executable, "-c", "open('removed', 'w')"]
script = "(setsid env -i sleep {0}.7 &); trap '' TERM; touch begun; sleep {0}.8; sleep {0}.9"
process.run(
    ["bash", "-c", script.format(sys.argv[1])],
    cwd=Path(), env=process.environment(dict()), log=Path("log"), deadline_s=60, removal=removal,
)
"""


def test_nothing_outlives_a_harness_that_is_killed(tmp_path: Path) -> None:
    call = [sys.executable, "-c", HARNESS, UNIQUE]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(call, cwd=tmp_path, env=env, start_new_session=True) as harness:
        wait_for((tmp_path / "begun").exists)
        os.killpg(harness.pid, signal.SIGKILL)  # as a batch system does
    wait_for(lambda: not alive(f"{UNIQUE}."))
    wait_for((tmp_path / "removed").exists)


STAYS = "(setsid sleep {0}.1 &); touch begun; sleep {0}.2; true"
HIDES = "touch begun; exec env -i sleep {0}.2"
"""No search for its environment finds it."""


@pytest.mark.parametrize(
    "script", ["(setsid sleep {0}.1 &); touch begun; sleep {0}.2; true", HIDES]
)
def test_a_program_whose_warden_is_killed_dies_with_it(tmp_path: Path, script: str) -> None:
    def kill_warden() -> None:
        wait_for((tmp_path / "begun").exists)
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if b"warden.py" in (words := line.read_bytes()) and UNIQUE.encode() in words:
                    os.kill(int(line.parent.name), signal.SIGKILL)

    killer = threading.Thread(target=kill_warden)
    killer.start()
    done = run(tmp_path, script.format(UNIQUE))
    killer.join()
    assert (done.status, done.returncode) == ("failed", None)
    assert not alive(f"{UNIQUE}.")


@pytest.mark.parametrize(("script", "removed"), [("true", False), ("exit 3", True)])
def test_a_removal_follows_a_program_that_failed(
    tmp_path: Path, script: str, removed: bool
) -> None:
    done = run(tmp_path, script, removal=["touch", str(tmp_path / "removed")])
    assert (done.left, (tmp_path / "removed").exists()) == (False, removed)


def test_a_removal_that_hangs_is_left_and_said(tmp_path: Path) -> None:
    begun = time.monotonic()
    script = f"trap '' TERM; sleep {UNIQUE}.1; true"
    done = run(tmp_path, script, deadline_s=0.1, removal=["sleep", f"{UNIQUE}.2"])
    assert (done.status, done.left) == ("timeout", True)
    assert not alive(f"{UNIQUE}.")
    assert time.monotonic() - begun < 30


def test_a_removal_has_its_time_also_beside_a_program_that_does_not_end(tmp_path: Path) -> None:
    removal = ["bash", "-c", "sleep 0.3; touch removed"]
    done = run(tmp_path, f"trap '' TERM; sleep {UNIQUE}.1; true", deadline_s=0.1, removal=removal)
    assert (done.status, done.left) == ("timeout", False)
    assert (tmp_path / "removed").exists()
    assert not alive(f"{UNIQUE}.")


def test_a_program_past_its_deadline_has_time_to_tidy_up(tmp_path: Path) -> None:
    script = f"trap 'sleep 0.5; touch tidied; exit' TERM; sleep {UNIQUE}.1; true"
    assert run(tmp_path, script, deadline_s=0.3).status == "timeout"
    assert (tmp_path / "tidied").exists()


def test_an_orphan_that_ends_is_not_the_program(tmp_path: Path) -> None:
    done = run(tmp_path, "(setsid bash -c 'sleep 0.1; exit 7' &); sleep 0.4; exit 3")
    assert (done.status, done.returncode) == ("failed", 3)


@pytest.mark.parametrize("name", ["HUP", "INT", "PIPE"])
def test_a_signal_ends_a_program_as_in_a_shell(tmp_path: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    # Whoever runs the tests may ignore HUP or INT. Python itself ignores SIGPIPE: else a write to a
    # pipe that nobody reads would end the tests.
    before = signal.getsignal(number) if name == "PIPE" else signal.signal(number, signal.SIG_DFL)
    try:
        done = run(tmp_path, f"kill -{name} $$; true")
    finally:
        signal.signal(number, before)
    assert (done.status, done.returncode) == ("failed", -number)


def test_what_the_harness_ignores_its_programs_ignore(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run(tmp_path, "kill -HUP $$; echo here").detail == "here"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_of_a_terminal_and_of_the_programs_group_leave_the_warden(tmp_path: Path) -> None:
    done = run(tmp_path, "for name in HUP INT QUIT; do kill -$name $PPID; done; sleep 0.1")
    assert done.status == "ok"
    done = run(tmp_path, "kill -KILL 0")
    assert (done.status, done.returncode) == ("failed", -signal.SIGKILL)


def test_a_warden_that_is_told_to_end_ends_its_program(tmp_path: Path) -> None:
    done = run(tmp_path, f"trap '' TERM; kill -TERM $PPID; sleep {UNIQUE}.1; true")
    assert (done.status, done.returncode) == ("failed", -signal.SIGKILL)
    assert not alive(f"{UNIQUE}.")


def test_a_warden_that_hangs_is_ended_with_all_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warden, "GRACE_S", 0.1)  # the harness's patience
    script = f"(setsid sleep {UNIQUE}.1 &); kill -STOP $PPID; sleep {UNIQUE}.2; true"
    assert run(tmp_path, script, deadline_s=0.3).status == "timeout"
    assert not alive(f"{UNIQUE}.")


def test_a_program_has_no_input_and_none_of_our_files(tmp_path: Path) -> None:
    lock = locks.take(tmp_path / "lock", lasting=True)
    assert lock is not None
    try:
        done = run(tmp_path, "cat; for file in /proc/$$/fd/*; do readlink $file; done; exit 0")
    finally:
        locks.free(lock)
    assert done.status == "ok"
    opened = process.text(tmp_path / "log.txt").splitlines()
    assert opened[0] == os.devnull
    assert str(tmp_path / "lock") not in opened


def test_processes_are_ended_by_a_variable_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other = (
        subprocess.Popen(["sleep", f"{UNIQUE}.{at}"], env={**os.environ, "RUN_OF": UNIQUE + at})
        for at in "12"
    )
    try:
        with monkeypatch.context() as patch:
            patch.setattr(warden, "LAST_S", 0.1)
            patch.setattr(os, "kill", lambda *_: None)  # as within a system call
            assert program.end_all("RUN_OF", f"{UNIQUE}1") == [ours.pid]
        monkeypatch.setattr(warden, "LAST_S", 60.0)
        begun = time.monotonic()
        assert program.end_all("RUN_OF", f"{UNIQUE}1") == []
        assert time.monotonic() - begun < 30  # once none is left, and not at the end of its time
        assert ours.wait() == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for each in (ours, other):
            each.kill()
            each.wait()
