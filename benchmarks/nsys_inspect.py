"""CPU time and memory of `harness inspect` on a large nsys export, beside one plain SQL scan of it.

    python benchmarks/nsys_inspect.py [--kernels N] [--check]

The export repeats the rows of a small one that was recorded on an H200, each copy later. The scan
is `SELECT demangledName, count(*), sum(end - start) … GROUP BY demangledName` by the standard
library's sqlite3, without a join to the names, which would more than double its time. Both are
fresh processes that read from the page cache, run in turns; the ratio is that of their CPU times,
which other work on the machine changes less than wall times. A process that only starts Python and
imports polars is timed beside them: no reader takes less. `--check` exits with 1 if inspect takes
over four times the scan.
"""

import argparse
import resource
import sqlite3
import sys
import tempfile
from pathlib import Path
from statistics import median

import zstandard
from timed import ROOT, cpu

SOURCE = ROOT / "tests/data/nsys/graph_node.sqlite.zst"
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
MOST_TIMES = 4.0
RUNS = 5

SCAN = f"""
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT demangledName, count(*), sum(end - start) FROM {KERNELS} "
    "GROUP BY demangledName").fetchall()
assert rows
"""


def scaled(path: Path, kernels: int) -> None:
    """Write an export of at least ``kernels`` kernels to ``path``."""
    path.write_bytes(zstandard.decompress(SOURCE.read_bytes(), max_output_size=1 << 28))
    with sqlite3.connect(path) as connection:
        first, last = connection.execute(f"SELECT min(start), max(end) FROM {KERNELS}").fetchone()
        (count,) = connection.execute(f"SELECT count(*) FROM {KERNELS}").fetchone()
        copies = -(-kernels // count)
        for table in (KERNELS, CALLS):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            shifted = ", ".join(
                {
                    "start": f"start + n.value * {last - first}",
                    "end": f"end + n.value * {last - first}",
                    "correlationId": "correlationId + n.value * 1000000",
                }.get(name, f'"{name}"')
                for name in columns
            )
            connection.execute(
                f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n "
                f"WHERE value < {copies - 1}) INSERT INTO {table} SELECT {shifted} FROM {table}, n"
            )
    connection.close()


def main() -> None:
    """Build the input, time both, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.sqlite"
        scaled(path, options.kernels)
        commands = {
            "scan": [sys.executable, "-c", SCAN, str(path)],
            "imports": [sys.executable, "-c", "import polars"],
            "inspect": [sys.executable, "-m", "harness", "inspect", "--json", str(path)],
        }
        for argv in commands.values():  # compiles modules, and brings files into the page cache
            cpu(argv)
        rounds = [{name: cpu(argv) for name, argv in commands.items()} for _ in range(RUNS)]
        size_mb = path.stat().st_size / 1e6
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    scan, imports, ours = (median(each[name] for each in rounds) for name in commands)
    times = median(each["inspect"] / each["scan"] for each in rounds)
    print(
        f"{options.kernels:,} kernels, {size_mb:.0f} MB, CPU time: scan {scan:.2f} s, imports"
        f" {imports:.2f} s, inspect {ours:.2f} s, {times:.2f} times the scan, peak {peak_mb:.0f} MB"
    )
    if options.check and times > MOST_TIMES:
        sys.exit(f"inspect takes more than {MOST_TIMES} times the scan")


if __name__ == "__main__":
    main()
