"""Rows of an export's tables of events: those that really have a time, and their process."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl


EARLY, UNTIMED = "end before they start", "have no time"
"""Why a row is dropped, after the number of such rows."""


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

    Raises CaptureError for a row without a start.
    """
    import polars as pl

    columns: Columns = dict.fromkeys(numbers, "INTEGER") | dict(texts or {})
    if not file.columns(table):
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))
    return real(file.fetch(table, columns), table, file)


def real(rows: "pl.DataFrame", table: str, file: SqliteFile) -> "pl.DataFrame":
    """Return those of a table's rows that have a time; CaptureError as ``timed``.

    The others are counted in ``file.dropped``: those that end before they start, or last longer
    than 63 bits can say, and those without times.
    """
    import polars as pl

    start, end = pl.col("start"), pl.col("end")
    if rows["start"].null_count():
        raise CaptureError(f"table {table} has a row without a start", where=file.path)
    early = ((end < start) | (end - start < 0)).fill_null(value=False)
    untimed = ((start == 0) & (end == 0)).fill_null(value=False)
    counts = rows.select(early.sum().alias(EARLY), untimed.sum().alias(UNTIMED)).row(0, named=True)
    for why, count in counts.items():
        if count:
            file.dropped[table, why] = (count, rows.height)
    rows = rows.filter(~early) if (table, EARLY) in file.dropped else rows
    # CUPTI writes start = end = 0 where it has no times (CUpti_ActivityKernel, "start").
    return rows.filter((start != 0) | (end != 0))
