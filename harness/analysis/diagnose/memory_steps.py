"""What each repeat of a growing history leaves, and how long memory lasts at that rate."""

import polars as pl

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.memory_growth import Growth
from harness.analysis.diagnose.memory_repeats import Repeats, repeated
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.memory_peak import Left, MemoryGrowth


def per_step(view: MemoryView) -> MemoryGrowth | None:
    """Return what each repeat leaves; None where nothing leaks, or no line tells the repeats.

    The rate is what the leaking lines left between the first and the last time that the line ran
    by which repeats are told, over the repeats between.
    """
    grown = view.growth
    if grown is None or not grown.confidence:
        return None
    made = view.blocks.filter(pl.col("index") >= view.first)
    repeats = repeated(made)
    if repeats is None:
        return None
    leaking = _left(made, repeats, grown)
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


def _left(made: pl.DataFrame, repeats: Repeats, grown: Growth) -> pl.DataFrame:
    """Return what whole repeats left of what grows; of a queue, with what they freed as less."""
    kinds = made.join(grown.kinds.select(grown.keys), on=grown.keys, how="semi")
    begun, freed = (
        kinds.filter(pl.col(event).is_between(repeats.begun[0], repeats.begun[-1], closed="left"))
        for event in ("index", "freed")
    )
    if not grown.queued:
        return begun.filter(pl.col("freed").is_null())
    return pl.concat([begun, freed.with_columns(-pl.col("bytes"))])
