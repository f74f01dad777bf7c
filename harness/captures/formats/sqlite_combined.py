"""Columns of which a table has few distinct combinations: a million launches have a few shapes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.captures.formats.sqlite_packed import PACKED, Packed

if TYPE_CHECKING:
    import polars as pl


def fetch_combined(
    file: SqliteFile,
    table: str,
    columns: Columns,
    combined: Sequence[str],
) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Return rows with ``columns`` and ``combination``, and the distinct rows of ``combined``.

    ``combination`` is the number of a row's values in the second frame, whose columns are Int64.
    Raises as ``SqliteFile.fetch``, but text and fractions after the first rows count as SQLite's
    integer of them; no profiler writes them into a column of integers.
    """
    import polars as pl

    nullable = frozenset(combined) - file.not_null(table)
    packed = Packed(tuple(combined), nullable)
    rows = file.fetch(table, columns, packed)
    keys = rows.select(PACKED).unique(maintain_order=True)
    values = packed.unpacked(keys[PACKED])
    if values is None:  # a null, or an integer that is too large
        rows = file.fetch(table, {**columns, **dict.fromkeys(combined, "INTEGER")})
        keys = combinations = rows.select(combined).unique(maintain_order=True)
    else:
        schema = dict.fromkeys(combined, pl.Int64)
        combinations = pl.DataFrame(values, schema=schema, orient="row")
    numbered = keys.with_row_index("combination")
    joined = rows.join(
        numbered, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.drop(keys.columns), combinations
