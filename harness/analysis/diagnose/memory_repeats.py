"""The line of a history that runs once in each repeat of what the program does."""

from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.evidence.capture import NO_STACK

_LEAST = 4
"""Repeats: fewer than four show no pattern."""


@dataclass(frozen=True)
class Repeats:
    """The line that runs once a repeat, and the events at which it did."""

    line: str
    begun: pl.Series

    @property
    def count(self) -> int:
        """Return the repeats between the line's first run and its last."""
        return self.begun.len() - 1


def repeated(made: pl.DataFrame) -> Repeats | None:
    """Return the repeats of a history whose blocks are ``made``; None where no line tells them.

    A step asks for the same blocks in the same order, whatever their sizes. So a line that runs
    once in each recurs after as many other blocks, and until the end; from a layer's line to the
    next layer's it is fewer than to the next step's. Of the lines that recur most evenly the one
    that runs least often tells the whole step; what it asks for at once is one run. The first
    distance does not count: first steps make states, too.
    """
    site = pl.col("site")
    rows = made.sort("index").with_row_index("at")
    runs = rows.filter((site != site.shift()).fill_null(value=True), site != NO_STACK)
    distance = pl.col("at").cast(pl.Int64).diff()
    lines = runs.group_by("site").agg(
        runs=pl.len(),
        least=distance.slice(2).min(),
        most=distance.slice(2).max(),
        last=pl.col("at").last(),
        begun=pl.col("index"),
    )
    even = lines.filter(
        pl.col("runs") > _LEAST,
        pl.col("most") <= pl.col("least") * memory_thresholds.EVEN,
        rows.height - pl.col("last") <= pl.col("most") * memory_thresholds.EVEN,
    ).sort(pl.col("most") / pl.col("least"), "runs", "last", "site")
    return None if even.is_empty() else Repeats(even["site"][0], even["begun"][0])
