"""The files of evidence tables: written with their hashes, read only if those still hold.

A hash says that nobody changed a file by accident, not that whoever wrote it meant well: polars
aborts where memory ends. So the files are read within a budget (:mod:`harness.ground.confined`).
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harness.evidence import measurable
from harness.evidence.cell_record import Artifact
from harness.ground import confined, files
from harness.ground.errors import EvidenceError

if TYPE_CHECKING:
    import polars as pl

_LEVEL = 19
"""Of zstd: git keeps each table for good, and the largest published report takes 3 s to write."""
_MOST_VALUES = 50_000_000
"""Rows times columns of all tables; the largest published report has 2.0 million."""
_FREE_VALUES, _VALUES_PER_BYTE = 4_000_000, 20
"""Values of tables of no size, and those that a byte adds; published tables have up to 13 a byte.

A column of one value takes no room in a file, and all of its length on a page.
"""
_MOST_TEXT_BYTES = 1 << 29
"""Bytes of all texts of one table, each counted as often as it stands there."""


Columns: TypeAlias = Mapping[str, str]
"""A table's columns, each "str", "category", "int" or "float"."""


def write(folder: Path, tables: Mapping[str, "pl.DataFrame"], version: int) -> dict[str, Artifact]:
    """Write each table as ``<name>.parquet``; return size and sha256 of each file by its table."""
    written = {}
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        table.write_parquet(
            path,
            compression="zstd",
            compression_level=_LEVEL,
            statistics=False,  # nothing looks for rows by them
            metadata={"evidence": str(version)},
        )
        written[name] = Artifact(sha256=files.sha256(path), bytes=path.stat().st_size)
    return written


def read(
    folder: Path, listed: Mapping[str, Artifact], columns_of: Mapping[str, Columns], version: int
) -> dict[str, "pl.DataFrame"]:
    """Return the tables that ``listed`` vouches for, of those that ``columns_of`` names.

    Raises EvidenceError if a file is missing, is not the one that was written, or is not listed; if
    its version or a column is another; CaptureError if reading the files spends their budget.
    """
    import polars as pl

    for name in sorted({*listed, *(path.stem for path in folder.glob("*.parquet"))}):
        _verify(folder / f"{name}.parquet", listed.get(name))
    tables = {name: dict(columns) for name, columns in columns_of.items() if name in listed}
    if not tables:
        return {}
    largest = max((folder / f"{name}.parquet" for name in tables), key=lambda at: at.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as scratch:
        source = str(folder.resolve())
        arguments = {"folder": scratch, "source": source, "tables": tables, "version": version}
        budget = confined.budget(largest)
        confined.call(leave, folder, Path(scratch), arguments, budget)
        return {name: pl.read_ipc(Path(scratch) / name) for name in tables}


def _verify(path: Path, recorded: Artifact | None) -> None:
    if recorded is None:
        raise EvidenceError("the evidence's provenance lists no such table", where=path)
    try:
        same = path.stat().st_size == recorded.bytes and files.sha256(path) == recorded.sha256
    except OSError as error:
        raise EvidenceError(f"not readable: {error.strerror}", where=path) from None
    if not same:
        raise EvidenceError("changed since it was written: its sha256 is another", where=path)


def leave(folder: str, source: str, tables: Mapping[str, Columns], version: int) -> None:
    """Leave each table of the evidence in ``source`` in ``folder``, as an Arrow file to map."""
    paths = {name: Path(source) / f"{name}.parquet" for name in tables}
    size = sum(path.stat().st_size for path in paths.values())
    room = min(_MOST_VALUES, _FREE_VALUES + _VALUES_PER_BYTE * size)
    for name, columns in tables.items():
        with _reading(paths[name]):
            room -= _checked(paths[name], columns, version, room)
        table = _table(paths[name])
        table.write_ipc(Path(folder) / name, record_batch_size=max(1, table.height))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what polars says of a file into an EvidenceError."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise EvidenceError(f"not readable as a table: {reason}", where=path) from None
    except pl.exceptions.PanicException:
        raise EvidenceError("not readable as a table: polars gave up", where=path) from None


def _table(path: Path) -> "pl.DataFrame":
    import polars as pl

    with _reading(path):
        table = pl.read_parquet(path)
        texts = table.select(pl.col(pl.String, pl.Categorical).cast(str).str.len_bytes().sum())
    if sum(texts.row(0)) > _MOST_TEXT_BYTES:
        raise EvidenceError("its texts are more than memory bears", where=path)
    if odd := measurable.mistake(table):
        raise EvidenceError(odd, where=path)
    return table


def _checked(path: Path, columns: Columns, version: int, room: int) -> int:
    """Return how many values a file says it holds, at most ``room``; reads none of them."""
    import polars as pl

    written = pl.read_parquet_metadata(path).get("evidence")
    if written != str(version):
        raise EvidenceError(
            f"evidence of version {written}, this harness reads {version}",
            where=path,
            remedy="run `harness report --tables-only` on the run again",
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
    rows: int = pl.scan_parquet(path).select(pl.len()).collect().item()
    if rows * len(schema) > room:
        what = f"{rows:,} rows are more than evidence of this size may hold"
        raise EvidenceError(what, where=path)
    return rows * len(schema)
