"""What each repeat of a growing history leaves, and how long memory lasts at that rate."""

from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.memory_peak import Left, MemoryGrowth
from harness.evidence.capture import NO_STACK

_LEAST = 4
"""Repeats: fewer than four show no pattern."""


@dataclass(frozen=True)
class _Repeats:
    """The line that runs once a repeat, and the events at which it did."""

    line: str
    begun: pl.Series

    @property
    def count(self) -> int:
        """Return the repeats between the line's first run and its last."""
        return self.begun.len() - 1


def per_step(view: MemoryView) -> MemoryGrowth | None:
    """Return what each repeat leaves; None where nothing leaks, or no line tells the repeats.

    The rate is what the leaking lines left between the first and the last time that the line ran
    by which repeats are told, over the repeats between.
    """
    grown = view.growth
    if grown is None or not grown.confidence:
        return None
    made = view.blocks.filter(pl.col("index") >= view.first)
    repeats = _repeated(made)
    if repeats is None:
        return None
    whole = pl.col("index").is_between(repeats.begun[0], repeats.begun[-1], closed="left")
    left = made.filter(whole, pl.col("freed").is_null())
    leaking = left.join(grown.kinds.select(grown.keys), on=grown.keys, how="semi")
    total = int(leaking["bytes"].sum())
    if not total:
        return None
    sites = view.by_site(leaking).filter(pl.col("bytes") >= thresholds.MATTERS * total)
    room = view.room
    return MemoryGrowth(
        line=repeats.line,
        repeats=repeats.count,
        bytes=round(total / repeats.count),
        sites=tuple(Left(site, round(held / repeats.count)) for site, held, _ in sites.iter_rows()),
        lasts=None if room is None else room * repeats.count / total,
    )


def _repeated(made: pl.DataFrame) -> _Repeats | None:
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
    return None if even.is_empty() else _Repeats(even["site"][0], even["begun"][0])
