"""Turns on the GPU: set-up is shared, measurement is alone, and nobody starves."""

import subprocess
import sys
import time
from pathlib import Path

CELL = """
import sys, time
from pathlib import Path
from harness.probe.gpu_lock import Turn
name, lock, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
turn = Turn(lock, alone=name.startswith("alone"))
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
