"""Time of the commands that a user waits for: `harness --help`, and rendering every report again.

    python benchmarks/commands.py [--check]

As ratios to a bare `python -c pass` of the same run, and in seconds. `--check` exits with 1 if help
takes 0.3 s or one report 5 s.
"""

import argparse
import sys

from timed import ROOT, best

RUNS = 5
HELP_S, REPORT_S = 0.3, 5.0


def main() -> None:
    """Time, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    reports = len(list((ROOT / "reports").glob("*/*/evidence")))
    bare = best([sys.executable, "-c", "pass"], RUNS)
    shown = best([sys.executable, "-m", "harness", "--help"], RUNS)
    rendered = best([sys.executable, "-m", "harness", "report"], runs=2) / max(reports, 1)
    print(f"bare python {bare:.3f} s; --help {shown:.3f} s, {shown / bare:.1f} times it")
    print(f"one report again {rendered:.2f} s, {rendered / bare:.0f} times it ({reports} reports)")
    if options.check and (shown >= HELP_S or rendered >= REPORT_S):
        sys.exit("slower than promised")


if __name__ == "__main__":
    main()
