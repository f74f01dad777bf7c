"""Keep what Nsight Compute reported of a few cells of a run, for tests.

    python tests/data/keep_launches.py RUN KEPT CASE.VARIANT…

``launches`` here was cut from a run of problem 6 on an H200: of each cell the counters that a
report's evidence keeps and the instructions, of all its launches, with ``cell`` as first column.
"""

import sys
from pathlib import Path

import polars as pl

from harness.captures.ncu.keep import keep
from harness.extract import door

TABLES = ("counters", "instructions")
UNUSED = ("file", "line", "stall", "stalled")


def kept(run: Path, names: list[str]) -> dict[str, pl.DataFrame]:
    """Return the tables of the named cells, one below the other."""
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
    for name in names:
        (cell,) = (run / "cells").glob(f"{name}.ncu.*")
        tables = keep(door.capture(cell / "counters.ncu-rep").captures["ncu"].tables)
        for table in TABLES:
            rows = tables[table].cast({pl.Categorical: pl.String}).drop(UNUSED, strict=False)
            parts[table].append(rows.select(pl.lit(name).alias("cell"), pl.all()))
    return {name: pl.concat(tables) for name, tables in parts.items()}


if __name__ == "__main__":
    made = kept(Path(sys.argv[1]), sys.argv[3:])
    Path(sys.argv[2]).mkdir(exist_ok=True)
    for table, rows in made.items():
        rows.write_parquet(Path(sys.argv[2]) / f"{table}.parquet", compression_level=19)
