"""The events that a reader left out of its tables, told in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

DROPPED = "dropped"
"""The name of the table, and of the condition that tells its rows where no flaws are looked for."""


def sentences(rows: "pl.DataFrame") -> list[str]:
    """Return what each row of the table says: "3 of 49 kernels end before they start"."""
    return [
        f"{count:,}{'' if of is None else f' of {of:,}'} {what} {why}"
        for what, count, of, why in rows.select("what", "count", "of", "why").rows()
    ]


def condition(rows: "pl.DataFrame") -> dict[str, str]:
    """Return the condition DROPPED; none where nothing was left out."""
    return {} if rows.is_empty() else {DROPPED: "; ".join(sentences(rows))}
