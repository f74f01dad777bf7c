"""Cells that leave links, FIFOs, devices, odd names and floods: the host's files stay untouched.

``tests/engines/test_real_containers.py`` makes the same attacks in Docker and podman.
"""

import sys
from pathlib import Path

from harness.engines.options import Options
from tests.support.battery import Figures, rounds
from tests.support.hostile_cell import ATTACKS
from tests.support.hostile_runs import attacked


def test_no_attack_of_a_process_reaches_a_file_of_the_host(
    tmp_path: Path, figures: Figures
) -> None:
    count = max(rounds(100), len(ATTACKS))
    made = attacked("local", tmp_path, range(count), Options(python=Path(sys.executable)))
    figures(**made)
    assert made["refused"] > count // 2
