"""The files of evidence tables: written with their hashes, read only if those still hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness import files
from harness.errors import EvidenceError
from harness.evidence.cell_record import Artifact

if TYPE_CHECKING:
    import polars as pl

_MOST_VALUES = 100_000_000
"""Rows times columns of one table; the largest published one has 1.5 million."""


def write(path: Path, table: "pl.DataFrame", version: int) -> Artifact:
    """Write a table of that version of evidence and return the file's size and hash."""
    table.write_parquet(path, compression="zstd", metadata={"evidence": str(version)})
    return Artifact(sha256=files.sha256(path), bytes=path.stat().st_size)


def read(
    path: Path, known: Artifact | None, columns: Mapping[str, "pl.DataType"], version: int
) -> "pl.DataFrame":
    """Return the table in a file that ``known`` vouches for.

    ``columns`` are those that it may have. Raises EvidenceError if the file is not the one that was
    written, is of another version or with another column, or has more values than memory bears.
    """
    import polars as pl

    if known is None:
        raise EvidenceError("the evidence's provenance lists no such table", where=path)
    try:
        if path.stat().st_size != known.bytes or files.sha256(path) != known.sha256:
            raise EvidenceError("changed since it was written: its sha256 is another", where=path)
        _check(path, columns, version)
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise EvidenceError(f"not readable as a table: {reason}", where=path) from None
    except pl.exceptions.PanicException:
        raise EvidenceError("not readable as a table: polars gave up", where=path) from None


def _check(path: Path, columns: Mapping[str, "pl.DataType"], version: int) -> None:
    """Compare what the file's footer says with what may be read; reads no values."""
    import polars as pl

    written = pl.read_parquet_metadata(path).get("evidence")
    if written != str(version):
        raise EvidenceError(
            f"evidence of version {written}, this harness reads {version}",
            where=path,
            remedy="run `harness extract` on the run again",
        )
    schema = pl.read_parquet_schema(path)
    for name, kind in schema.items():
        if name not in columns:
            raise EvidenceError(f"unexpected column {name!r}", where=path)
        if _family(kind) != _family(columns[name]):
            raise EvidenceError(f"column {name!r} is of type {kind}", where=path)
    if "cell" not in schema:
        raise EvidenceError("has no column 'cell'", where=path)
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    if rows * len(schema) > _MOST_VALUES:
        raise EvidenceError(f"{rows} rows are more than memory bears", where=path)


def _family(kind: "pl.DataType") -> str:
    """Return a type's name; texts are alike, however they are stored."""
    import polars as pl

    return "text" if kind in (pl.String(), pl.Categorical()) else str(kind)
