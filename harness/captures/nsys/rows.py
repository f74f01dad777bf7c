"""Rows of an export's tables of events: those that really have a time, and their process."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl


def process_id(column: str) -> "pl.Expr":
    """Return the process id in bits 24 to 47 of a global id.

    User Guide of Nsight Systems, "Common SQLite Examples".
    """
    import polars as pl

    return pl.col(column) // (1 << 24) % (1 << 24)


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
    rows = file.fetch(table, columns)
    start, end = pl.col("start"), pl.col("end")
    if rows["start"].null_count():
        raise CaptureError(f"table {table} has a row without a start", where=file.path)
    if rows.select(((end < start) | (end - start < 0)).any()).item():
        raise CaptureError(f"table {table} has a row that ends before it starts", where=file.path)
    # CUPTI writes start = end = 0 where it has no times (CUpti_ActivityKernel, "start").
    return rows.filter((start != 0) | (end != 0))
