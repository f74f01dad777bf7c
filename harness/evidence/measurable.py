"""Numbers that a measurement can be: their sums, variances and ratios fit a column."""

from typing import TYPE_CHECKING, Any

from harness.ground.json_text import LEAST, MOST

if TYPE_CHECKING:
    import polars as pl

_MOST_WHOLE = float(1 << 62)
"""Of times, and of sums of durations, sizes and counts: sums and differences of two fit 64 bits."""
_TIMES = frozenset({"start_ns", "time_ns"})
_SUMMED = ("_ns", "bytes", "count", "executed", "samples", "stalled")
"""Endings of the names of columns that are summed."""


def mistake(table: "pl.DataFrame") -> str:
    """Return what in a table no measurement can be, "" if there is nothing.

    LEAST and MOST bound what is no whole number, but zero.
    """
    import polars as pl

    for column in table.select(pl.col(pl.Float64)):
        sizes = column.drop_nulls().abs()
        odd = column.drop_nulls().filter((sizes > MOST) | ((sizes < LEAST) & (sizes != 0)))
        if odd.len():
            return f"a {column.name} of {odd[0]:g}, which nothing measures"
    for column in table.select(pl.col(pl.Int64)):
        sizes = column.drop_nulls().cast(pl.Float64).abs()
        if column.name in _TIMES:
            latest: Any = sizes.max()
            if (latest or 0) >= _MOST_WHOLE:
                return f"a {column.name} of {latest:.4g}, which nothing measures"
        elif column.name.endswith(_SUMMED) and (total := float(sizes.sum())) >= _MOST_WHOLE:
            return f"{column.name} that sum to {total:.4g}, which nothing measures"
    return ""
