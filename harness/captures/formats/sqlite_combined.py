"""Columns of which a table has few distinct combinations: a million launches have a few shapes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.captures.formats.sqlite_packed import PACKED, Packing

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
    packed = Packing(tuple(combined), nullable)
    rows = file.fetch(table, columns, packed)
    numbers, texts = _numbered(rows[PACKED])
    values = packed.unpacked(texts)
    if values is not None:
        schema = dict.fromkeys(combined, pl.Int64)
        combinations = pl.DataFrame(values, schema=schema, orient="row")
        return rows.drop(PACKED).with_columns(combination=numbers), combinations
    # There is a null, or an integer that is too large.
    rows = file.fetch(table, {**columns, **dict.fromkeys(combined, "INTEGER")})
    combinations = rows.select(combined).unique(maintain_order=True)
    numbered = combinations.with_row_index("combination")
    joined = rows.join(numbered, on=combined, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(combined), combinations


def _numbered(packed: "pl.Series") -> "tuple[pl.Series, pl.Series]":
    """Return the number of each value, counted from 0, and the different values by number."""
    import polars as pl

    try:
        texts = packed.cast(pl.String)
    except pl.exceptions.ComputeError:  # an integer is half of a character
        texts = packed.bin.encode("hex")
    # Categories of its own number from 0; to make them takes a third of a join's time.
    numbers = texts.cast(pl.Categorical(pl.Categories.random())).to_physical()
    first = numbers.arg_unique()
    return numbers, packed.gather(first).gather(numbers.gather(first).arg_sort())
