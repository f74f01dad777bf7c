"""Keep a few cells of a report's evidence for tests, whatever the committed reports hold later.

    python tests/data/keep_report.py REPORT KEPT CASE.VARIANT…

Of each named cell all captures and rounds stay.
"""

import json
import sys
from pathlib import Path

import polars as pl

from harness.evidence import tables as evidence


def keep(report: Path, kept: Path, names: list[str]) -> None:
    """Write the evidence of the named cells of ``report`` into the folder ``kept``."""
    record = json.loads((report / "evidence" / "provenance.json").read_text())
    record["cells"] = [cell for cell in record["cells"] if _name(cell["cell"]) in names]
    assert {_name(cell["cell"]) for cell in record["cells"]} == set(names)
    cells = [cell["cell"] for cell in record["cells"]]
    (kept / "evidence").mkdir(parents=True)
    (kept / "evidence" / "provenance.json").write_text(json.dumps(record, indent=1))
    tables = {
        name: table.filter(pl.col("cell").cast(pl.String).is_in(cells))
        for name, table in evidence.load(report / "evidence").items()
        if name != "ceilings"
    }
    evidence.save(kept / "evidence", {name: rows for name, rows in tables.items() if len(rows)})


def _name(cell: str) -> str:
    """Return CASE.VARIANT of CASE.VARIANT.CAPTURE.rN."""
    return cell.rsplit(".", 2)[0]


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
