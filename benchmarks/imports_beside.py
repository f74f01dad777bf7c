"""What a host-bound step loses while other cells of the run import or end.

    python benchmarks/imports_beside.py RUN     a run folder with recordings of load

Cells measure alone, but others start their interpreters, import and end meanwhile. Each decode step
of a recording is put on the run's clock, and is quiet if no other cell did so during it. A line has
a cell with at least five steps of both kinds: the median of both, in ms, and their ratio.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

import polars as pl

from harness.captures.load.read import read
from harness.evidence.cell_record import CellRecord
from harness.store.run_folder import Run

FEWEST = 5


class Busy(NamedTuple):
    """A stretch in which a cell's process loads the host: seconds since 1970."""

    cell: str
    start: float
    end: float


def busy(cell: CellRecord) -> Iterator[Busy]:
    """Yield a cell's start with its imports, and its end."""
    spent = cell.phases
    yield Busy(cell.name, cell.started, cell.started + spent.get("start", 0) + spent["import"])
    ended = cell.started + sum(spent.values())
    yield Busy(cell.name, ended - spent.get("end", 0) - spent.get("export", 0), ended)


def steps(folder: Path, cell: CellRecord) -> list[tuple[float, float]]:
    """Return when each decode step began and ended, in seconds since 1970."""
    begun = cell.workload.windows[0][0]
    table = read(folder / "load.json.gz")["load_steps"].filter(pl.col("kind") == "decode")
    pairs = table.select("start_ns", "duration_ns").iter_rows()
    return [(begun + start / 1e9, begun + (start + took) / 1e9) for start, took in pairs]


def main(run: Path) -> None:
    """Print a line a cell, and the geometric mean of the ratios."""
    cells = [each for each in Run.open(run).records() if each[1].ok]
    loads = [one for _, cell in cells if "import" in cell.phases for one in busy(cell)]
    ratios = []
    for folder, cell in cells:
        if cell.capture != "load":
            continue
        others = [one for one in loads if one.cell != cell.name]
        quiet: list[float] = []
        beside: list[float] = []
        for start, end in steps(folder, cell):
            is_beside = any(one.start < end and start < one.end for one in others)
            (beside if is_beside else quiet).append((end - start) * 1e3)
        if min(len(quiet), len(beside)) >= FEWEST:
            ratios.append(median(beside) / median(quiet))
            print(f"{cell.name:40} {median(quiet):7.2f} {median(beside):7.2f} {ratios[-1]:5.2f}")
    print(
        f"{len(ratios)} cells: geometric mean {geometric_mean(ratios):.3f}, most {max(ratios):.2f}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
