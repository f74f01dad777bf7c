"""Rows of an export's tables of events: those that really have a time, and their process."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl


def process_id(column: str) -> "pl.Expr":
    """Return the process id in bits 24 to 47 of a global id.

    User Guide of Nsight Systems, "Common SQLite Examples".
    """
    import polars as pl

    return pl.col(column) // (1 << 24) % (1 << 24)


def correlation(rows: "pl.DataFrame", process: str | None) -> "pl.Series":
    """Return ids of 32 bits, above them the process id of the global id in column ``process``."""
    import polars as pl

    ids = pl.col("correlationId")
    if process:
        ids += process_id(process) * (1 << 32)
    return rows.select(ids).to_series()


def timed(
    file: SqliteFile, table: str, numbers: Iterable[str], texts: Columns | None = None
) -> "pl.DataFrame":
    """Return rows that really have a time, none if there is no such table.

    Raises CaptureError for a row without a start, and one that ends before it starts or lasts
    longer than 63 bits can say.
    """
    import polars as pl

    columns: Columns = dict.fromkeys(numbers, "INTEGER") | dict(texts or {})
    if not file.columns(table):
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))
    return real(file.fetch(table, columns), table, file.path)


def real(rows: "pl.DataFrame", table: str, where: Path) -> "pl.DataFrame":
    """Return those of a table's rows that have a time; CaptureError as ``timed``."""
    import polars as pl

    start, end = pl.col("start"), pl.col("end")
    if rows["start"].null_count():
        raise CaptureError(f"table {table} has a row without a start", where=where)
    if rows.select(((end < start) | (end - start < 0)).any()).item():
        raise CaptureError(f"table {table} has a row that ends before it starts", where=where)
    # CUPTI writes start = end = 0 where it has no times (CUpti_ActivityKernel, "start").
    return rows.filter((start != 0) | (end != 0))
