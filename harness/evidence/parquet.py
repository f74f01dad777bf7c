"""The files of evidence tables: written with their hashes, read only if those still hold.

A hash says that nobody changed a file by accident, not that whoever wrote it meant well: polars
aborts where memory ends. So the files are read within a budget (:mod:`harness.confined`).
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harness import confined, files
from harness.errors import EvidenceError
from harness.evidence.cell_record import Artifact

if TYPE_CHECKING:
    import polars as pl

_MOST_VALUES = 50_000_000
"""Rows times columns of one table; the largest published one has 1.0 million."""
_MOST_TEXT_BYTES = 1 << 29
"""Bytes of all texts of one table, each counted as often as it stands there."""


Columns: TypeAlias = Mapping[str, str]
"""A table's columns, each "str", "category", "int" or "float"."""


def write(folder: Path, tables: Mapping[str, "pl.DataFrame"], version: int) -> dict[str, Artifact]:
    """Write each table as ``<name>.parquet``; return size and sha256 of each file by its table."""
    written = {}
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        table.write_parquet(path, compression="zstd", metadata={"evidence": str(version)})
        written[name] = Artifact(sha256=files.sha256(path), bytes=path.stat().st_size)
    return written


def read(
    folder: Path, listed: Mapping[str, Artifact], known: Mapping[str, Columns], version: int
) -> dict[str, "pl.DataFrame"]:
    """Return the tables that ``listed`` vouches for, of those ``known`` by name and columns.

    Raises EvidenceError if a file is missing, is not the one that was written, or is not listed; if
    its version or a column is another; CaptureError if reading the files spends their budget.
    """
    import polars as pl

    for name in sorted({*listed, *(path.stem for path in folder.glob("*.parquet"))}):
        _verify(folder / f"{name}.parquet", listed.get(name))
    tables = {name: dict(columns) for name, columns in known.items() if name in listed}
    if not tables:
        return {}
    largest = max((folder / f"{name}.parquet" for name in tables), key=lambda at: at.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as scratch:
        source = str(folder.resolve())
        arguments = {"folder": scratch, "source": source, "tables": tables, "version": version}
        budget = confined.budget(largest)
        confined.call(f"{__name__}:leave", folder, Path(scratch), arguments, budget)
        return {name: pl.read_ipc(Path(scratch) / name) for name in tables}


def _verify(path: Path, known: Artifact | None) -> None:
    if known is None:
        raise EvidenceError("the evidence's provenance lists no such table", where=path)
    try:
        same = path.stat().st_size == known.bytes and files.sha256(path) == known.sha256
    except OSError as error:
        raise EvidenceError(f"not readable: {error.strerror}", where=path) from None
    if not same:
        raise EvidenceError("changed since it was written: its sha256 is another", where=path)


def leave(folder: str, source: str, tables: Mapping[str, Columns], version: int) -> None:
    """Leave each table of the evidence in ``source`` in ``folder``, as an Arrow file to map."""
    for name, columns in tables.items():
        table = _table(Path(source) / f"{name}.parquet", columns, version)
        table.write_ipc(Path(folder) / name, record_batch_size=max(1, table.height))


def _table(path: Path, columns: Columns, version: int) -> "pl.DataFrame":
    import polars as pl

    try:
        _check(path, columns, version)
        table = pl.read_parquet(path)
        texts = table.select(pl.col(pl.String, pl.Categorical).cast(str).str.len_bytes().sum())
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise EvidenceError(f"not readable as a table: {reason}", where=path) from None
    except pl.exceptions.PanicException:
        raise EvidenceError("not readable as a table: polars gave up", where=path) from None
    if sum(texts.row(0)) > _MOST_TEXT_BYTES:
        raise EvidenceError("its texts are more than memory bears", where=path)
    return table


def _check(path: Path, columns: Columns, version: int) -> None:
    """Compare the file's footer with the limits of reading; reads no values."""
    import polars as pl

    written = pl.read_parquet_metadata(path).get("evidence")
    if written != str(version):
        raise EvidenceError(
            f"evidence of version {written}, this harness reads {version}",
            where=path,
            remedy="run `harness extract` on the run again",
        )
    texts = pl.String(), pl.Categorical()
    types = {"str": texts, "category": texts, "int": (pl.Int64(),), "float": (pl.Float64(),)}
    schema = pl.read_parquet_schema(path)
    for name, kind in schema.items():
        if name not in columns:
            raise EvidenceError(f"unexpected column {name!r}", where=path)
        if kind not in types[columns[name]]:
            raise EvidenceError(f"column {name!r} is of type {kind}", where=path)
    if "cell" not in schema:
        raise EvidenceError("has no column 'cell'", where=path)
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    if rows * len(schema) > _MOST_VALUES:
        raise EvidenceError(f"{rows} rows are more than memory bears", where=path)
