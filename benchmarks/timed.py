"""Wall and CPU time of fresh processes."""

import os
import resource
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled by the first process, as where the harness is installed, not by each."""


def best(argv: list[str], runs: int) -> float:
    """Return the least wall time in seconds of ``runs`` processes."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        times.append(time.perf_counter() - start)
    return min(times)


def cpu(argv: list[str]) -> float:
    """Return the CPU time in seconds that a process takes, in user and kernel mode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=_ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
