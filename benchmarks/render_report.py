"""CPU of rendering a report: evidence partitioned by cell once, beside filtered for each look-up.

    python benchmarks/render_report.py [--check] [--report FOLDER]

Both render the same report in one process, into throw-away folders, after a rendering that is not
counted. The filtering side differs only in its tables: each look-up of a cell filters every table
by that cell. `--check` exits with 1 if the pages differ, or if partitioned takes more than a third
of the CPU.
"""

import argparse
import filecmp
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import polars as pl
from timed import ROOT

from harness.analysis import metrics
from harness.analysis.cell_tables import CellTables, Repeats
from harness.analysis.counters import of_longest_kernel
from harness.evidence.tables import Tables
from harness.problem import manifest
from harness.report import publish

REPORT = ROOT / "reports/4-custom-hgemm/nvidia-h200"
MOST_SHARE = 1 / 3


class Filtered(CellTables):
    """The same look-ups, each by filters of the whole tables."""

    def __init__(self, tables: Tables) -> None:
        self.whole = tables

    def of(self, cell: str) -> Tables:
        """Return the rows of one cell in every table, without the column ``cell``."""
        return {
            name: table.filter(pl.col("cell") == cell).drop("cell")
            for name, table in self.whole.items()
        }

    def repeats(self, capture: str, variant: str, case: str) -> Repeats:
        """Return the cells of a capture of a variant and case."""
        rows = self.whole["cells"].filter(
            pl.col("variant") == variant, pl.col("case") == case, pl.col("capture") == capture
        )
        failed = rows.filter(pl.col("status") != "ok").select("round", "status", "reason")
        return Repeats(
            rows.filter(pl.col("status") == "ok").sort("round"),
            tuple((number, f"{status}: {reason}") for number, status, reason in failed.iter_rows()),
        )

    def counters(self, cell: str) -> dict[str, float]:
        """Return Nsight Compute's metrics of the longest kernel of a cell."""
        return of_longest_kernel(self.of(cell)["counters"])

    def samples(self, cell: str, metric: str, region: str | None) -> list[float]:
        """Return a cell's samples in order, warm-up left out."""
        settled = pl.col("mark").fill_null("") != "warm-up"
        rows = self.of(cell)["samples"].filter(pl.col("metric") == metric, settled)
        if region is not None:
            rows = rows.filter(pl.col("region") == region)
        return rows.sort("index")["value"].to_list()

    def fact(self, cell: str, name: str) -> float | None:
        """Return the value of a fact."""
        return self._first(cell, name, "value")

    def text(self, cell: str, name: str) -> str | None:
        """Return the words of a fact."""
        return self._first(cell, name, "text")

    def regions(self, case: str) -> set[str]:
        """Return the regions in which the timing cells of a case measured."""
        timing = (pl.col("case") == case) & (pl.col("capture") == "timing")
        cells = self.whole["cells"].filter(timing)["cell"]
        samples = self.whole["samples"].filter(pl.col("cell").is_in(cells.implode()))
        return set(samples["region"].unique())

    def _first(self, cell: str, name: str, column: str):  # noqa: ANN202 - of the column's type
        values = self.of(cell)["facts"].filter(pl.col("name") == name)[column].drop_nulls()
        return values[0] if len(values) else None


def render(report: Path, folder: Path) -> float:
    """Render a report's evidence into ``folder`` and return the CPU seconds that this took."""
    problem = manifest.find(ROOT / "problems", report.parent.name)
    shutil.copytree(report / "evidence", folder / "evidence")
    start = time.process_time()
    publish.render(problem, folder)
    return time.process_time() - start


def differing(first: Path, second: Path) -> list[str]:
    """Return the names of the pages and figures that two renderings differ in."""
    pages = [path for path in first.rglob("*") if path.suffix in (".md", ".svg")]
    names = [str(path.relative_to(first)) for path in pages]
    _, different, unread = filecmp.cmpfiles(first, second, names, shallow=False)
    return different + unread


def main() -> None:
    """Render thrice, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--report", type=Path, default=REPORT)
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folders = [Path(scratch) / name for name in ("first", "partitioned", "filtered")]
        render(options.report, folders[0])  # loads altair and its compiler
        partitioned = render(options.report, folders[1])
        with patch.object(metrics, "CellTables", Filtered):
            filtered = render(options.report, folders[2])
        different = differing(folders[1], folders[2])
    print(
        f"{options.report.parent.name}: filtered {filtered:.1f} s of CPU, partitioned"
        f" {partitioned:.1f} s, {filtered / partitioned:.1f} times less"
    )
    if options.check and different:
        sys.exit(f"pages differ: {', '.join(different)}")
    if options.check and partitioned > MOST_SHARE * filtered:
        sys.exit(f"partitioned takes more than {MOST_SHARE:.2f} of the CPU")


if __name__ == "__main__":
    main()
