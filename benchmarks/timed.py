"""Wall and CPU time of fresh processes."""

import resource
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
