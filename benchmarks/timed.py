"""Wall time of fresh processes."""

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
