"""Turns on the GPU: set-up is shared, measurement is alone, and nobody starves."""

import fcntl
import subprocess
import sys
import time
from pathlib import Path

SETS_UP = """
import os, sys, time
from pathlib import Path
from harness.probe.turn import Turn

name, lock, log = sys.argv[1], Path(sys.argv[2]), os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND)

def work(phase):
    os.write(log, f"{name} begins {phase}\\n".encode())
    time.sleep(0.02)
    os.write(log, f"{name} ends {phase}\\n".encode())

turn = Turn(lock, alone=name.startswith("alone"), sign=Path(f"{lock}.{name}"))
work("set-up")
turn.tune()
work("tuning" if name.startswith("tunes") else "nothing")
turn.end_tuning()
work("set-up")
for _ in range(2):
    with turn.exclusively():
        turn.tune()  # it has the GPU already
        work("measurement")
    work("set-up")
turn.leave()
spent = turn.end()["spent"]
assert min(spent.values()) >= 0 and {"wait", "set_up", "measure", "finish"} <= set(spent), spent
"""
CELL = """
import sys, time
from pathlib import Path
from harness.probe.turn import Turn
name, lock, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
turn = Turn(lock, alone=name.startswith("alone"), sign=Path(f"{lock}.{name}"))
with turn.exclusively():
    with log.open("a") as file:
        file.write(f"{name} in\\n"); file.flush()
        time.sleep(0.05)
        file.write(f"{name} out\\n")
"""


def test_no_two_cells_measure_at_once(tmp_path: Path) -> None:
    lock, log = tmp_path / "lock", tmp_path / "log"
    names = ["a", "b", "alone-c", "d", "alone-e", "f"]
    argv = [sys.executable, "-c", CELL]
    cells = [subprocess.Popen([*argv, name, str(lock), str(log)]) for name in names]
    assert [cell.wait(timeout=30) for cell in cells] == [0] * len(names)
    lines = log.read_text().splitlines()
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert all(inside.split()[0] == outside.split()[0] for inside, outside in pairs)
    assert {inside.split()[0] for inside, _ in pairs} == set(names)


def test_nobody_sets_up_while_another_tunes_or_measures(tmp_path: Path) -> None:
    lock, log = tmp_path / "lock", tmp_path / "log"
    log.touch()
    names = ["a", "tunes-b", "c", "alone-d", "tunes-e", "f"]
    argv = [sys.executable, "-c", SETS_UP]
    cells = [subprocess.Popen([*argv, name, str(lock), str(log)]) for name in names]
    assert [cell.wait(timeout=60) for cell in cells] == [0] * len(names)
    busy: dict[str, str] = {}
    together = 0
    for line in log.read_text().splitlines():
        name, verb, phase = line.split()
        if verb == "begins":
            busy[name] = phase
        else:
            assert busy.pop(name) == phase
        together = max(together, len(busy))
        if {"measurement", "tuning", "nothing"} & set(busy.values()):
            assert len(busy) == 1, busy
    assert busy == {}
    assert together > 1  # set-ups did overlap, so the check above had something to find


def test_a_killed_cell_frees_its_turn(tmp_path: Path) -> None:
    code = CELL.replace("time.sleep(0.05)", "time.sleep(60)")
    argv = [sys.executable, "-c", code, "a", str(tmp_path / "lock"), str(tmp_path / "log")]
    cell = subprocess.Popen(argv)
    while not (tmp_path / "log").exists() or not (tmp_path / "log").read_text():
        assert cell.poll() is None, "the cell ended before it measured"
        time.sleep(0.01)
    cell.kill()
    cell.wait()
    after = [sys.executable, "-c", CELL, "b", str(tmp_path / "lock"), str(tmp_path / "log")]
    subprocess.run(after, check=True, timeout=20)
    assert (tmp_path / "log").read_text() == "a in\nb in\nb out\n"


def test_a_cell_shows_that_it_waits(tmp_path: Path) -> None:
    lock, sign = tmp_path / "lock", tmp_path / "lock.a"
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        argv = [sys.executable, "-c", CELL, "a", str(lock), str(tmp_path / "log")]
        cell = subprocess.Popen(argv)
        until = time.monotonic() + 20
        while not sign.is_dir() and time.monotonic() < until:
            time.sleep(0.01)
        assert sign.is_dir()
    assert cell.wait(timeout=20) == 0
    assert not sign.exists()
