"""Evidence folders made by hand, vouched for as `harness report` vouches for its own."""

from pathlib import Path

from harness.evidence import provenance
from harness.evidence import tables as evidence
from harness.evidence.cell_record import Artifact
from harness.ground import files
from tests.support import reports


def saved(folder: Path, tables: evidence.Tables) -> Path:
    """Write an evidence folder of these tables, with the provenance of the kept report."""
    folder.mkdir(parents=True, exist_ok=True)
    evidence.save(folder, tables)
    vouch(folder, provenance.load(reports.KEPT / "evidence"))
    return folder


def vouch(folder: Path, known: provenance.EvidenceProvenance | None = None) -> None:
    """List the tables of a folder as they are now in its provenance, or in ``known``."""
    known = known or provenance.load(folder)
    listed = {
        path.stem: Artifact(sha256=files.sha256(path), bytes=path.stat().st_size)
        for path in sorted(folder.glob("*.parquet"))
    }
    provenance.save(folder, known.run, list(known.cells), listed)
