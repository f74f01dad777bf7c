"""Time of the commands that a user waits for: help, `list`, `browse`, and rendering all reports.

    python benchmarks/commands.py [--check]

As ratios to a bare `python -c pass` of the same run, and in seconds; of `list` and `browse` the CPU
time, in multiples of that of help. `--check` exits with 1 if help takes 0.3 s or one report 5 s,
`list` four times the CPU time of help, or `browse` eight hundred times.
"""

import argparse
import sys
import tempfile

from timed import ROOT, best, cpu

RUNS = 5
HELP_S, REPORT_S = 0.3, 5.0
LIST_HELPS, BROWSE_HELPS = 4.0, 800.0


def main() -> None:
    """Time, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    reports = len(list((ROOT / "reports").glob("*/*/evidence")))
    harness = [sys.executable, "-m", "harness"]
    bare = best([sys.executable, "-c", "pass"], RUNS)
    shown = best([*harness, "--help"], RUNS)
    helped = min(cpu([*harness, "--help"]) for _ in range(RUNS))
    listed = min(cpu([*harness, "list"]) for _ in range(RUNS)) / helped
    with tempfile.TemporaryDirectory() as folder:
        browsed = cpu([*harness, "browse", "-o", f"{folder}/site"]) / helped
    rendered = best([*harness, "report"], runs=2) / max(reports, 1)
    print(f"bare python {bare:.3f} s; --help {shown:.3f} s, {shown / bare:.1f} times it")
    print(f"list {listed:.1f} and browse {browsed:.0f} times the CPU time of --help")
    print(f"one report again {rendered:.2f} s, {rendered / bare:.0f} times it ({reports} reports)")
    slow = listed >= LIST_HELPS or browsed >= BROWSE_HELPS
    if options.check and (slow or shown >= HELP_S or rendered >= REPORT_S):
        sys.exit("slower than promised")


if __name__ == "__main__":
    main()
