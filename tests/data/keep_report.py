"""Keep a few cells of a report for tests, whatever the committed reports hold later.

    python tests/data/keep_report.py REPORT KEPT CASE.VARIANT…

Of each named cell the evidence of all captures and rounds stays, and the captures of which tests
read the files. ``reports/1-torchao-float8/nvidia-h200`` here was cut from the report of that name
at commit d1e62ac; the ``problem.yaml`` beside it declares only what was kept.
"""

import shutil
import sys
from pathlib import Path

import polars as pl

from harness.evidence import provenance
from harness.evidence import tables as evidence

CAPTURES = ("output_code.py.zst", "memory.json.gz")


def keep(report: Path, kept: Path, names: list[str]) -> None:
    """Write evidence and captures of the named cells of ``report`` into the folder ``kept``."""
    known = provenance.load(report / "evidence")
    kept_cells = [cell for cell in known.cells if _name(cell.cell) in names]
    assert {_name(cell.cell) for cell in kept_cells} == set(names)
    cells = [cell.cell for cell in kept_cells]
    (kept / "evidence").mkdir(parents=True)
    tables = evidence.load(report / "evidence")
    ceilings = tables.pop("ceilings")  # of the GPUs: in no cell
    of_cells = {
        name: table.filter(pl.col("cell").cast(pl.String).is_in(cells))
        for name, table in tables.items()
    }
    filled = {name: rows for name, rows in of_cells.items() if len(rows)}
    written = evidence.save(kept / "evidence", filled | {"ceilings": ceilings})
    provenance.save(kept / "evidence", known.run, kept_cells, written)
    (kept / "captures").mkdir()
    for file in sorted((report / "captures").iterdir()):
        if any(file.name == f"{name}.{artifact}" for name in names for artifact in CAPTURES):
            shutil.copy(file, kept / "captures")


def _name(cell: str) -> str:
    """Return CASE.VARIANT of CASE.VARIANT.CAPTURE.rN."""
    return cell.rsplit(".", 2)[0]


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
