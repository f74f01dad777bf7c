"""Small files that stand for gigabytes or minutes: `harness inspect` refuses each in one line."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.battery import Figures
from tests.support.bombs import BOMBS, HARMLESS, REFUSED
from tests.support.paths import ROOT

MOST_MB, MOST_CPU_S = 2048, 20
"""Memory and CPU time of the command with all that it starts, on an ordinary core."""
_ORDINARY_S, _ADDITIONS = 0.24, 4_000_000
"""CPU time of so many additions there: a slower core is allowed more."""


def slowness() -> float:
    """Return how many times as long additions take here now as on an ordinary core, 1 at least."""
    begun, total = time.process_time(), 0
    for number in range(_ADDITIONS):
        total += number
    return max(1.0, (time.process_time() - begun) / _ORDINARY_S)


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little(name: str, tmp_path: Path, figures: Figures) -> None:
    path = tmp_path / "bomb"
    BOMBS[name](path)
    begun = time.monotonic()
    command = subprocess.Popen(
        [sys.executable, "-m", "harness", "inspect", str(path)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr
    with command.stderr as stream:
        said = stream.read()
    _, status, used = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    figures(
        bytes=path.stat().st_size,
        peak_mb=used.ru_maxrss >> 10,
        cpu_s=round(used.ru_utime + used.ru_stime, 1),
        wall_s=round(time.monotonic() - begun, 1),
    )
    if name in HARMLESS:
        assert (command.returncode, said) == (0, "")
    else:
        assert said.startswith(f"harness: {path}: ")
        assert said.count("\n") == 1
        assert REFUSED[name] in said
        assert command.returncode == 2
    assert used.ru_maxrss >> 10 < MOST_MB
    assert used.ru_utime + used.ru_stime < MOST_CPU_S * slowness()


def test_each_bomb_says_what_is_expected_of_it() -> None:
    assert set(BOMBS) == set(REFUSED) | HARMLESS
    assert len(BOMBS) >= 28
