"""What grows in a snapshot: blocks of one line and size that are left again and again."""

from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose import memory_thresholds

QUARTERS = 4
"""Parts of the measured steps, equal in events, in each of which what grows has to grow."""


@dataclass(frozen=True)
class Steps:
    """The measured steps of a snapshot, as MemoryView has them."""

    blocks: pl.DataFrame
    levels: pl.DataFrame
    first: int
    last: int
    by_phase: bool

    def by_quarter(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of measured steps with the quarter of their event."""
        length = (self.last - self.first + 1) / QUARTERS
        quarter = ((pl.col("index") - self.first) / length).cast(pl.Int64)
        return events.filter(pl.col("index") >= self.first).with_columns(quarter=quarter)


@dataclass(frozen=True)
class Growth:
    """Blocks left evenly in each quarter, by line and size, though as much is freed in each.

    ``confidence`` is that steps left them: 0 where it may be the layers of a single pass.
    """

    kinds: pl.DataFrame
    total: int
    confidence: float


def growth(steps: Steps, least: float) -> Growth | None:
    """Return the blocks left evenly in the measured steps, None below ``least`` bytes."""
    if steps.last - steps.first + 1 < QUARTERS:
        return None
    rows = steps.by_quarter(steps.blocks)
    left = rows.filter(pl.col("freed").is_null())
    counts = left.group_by("site", "bytes", "quarter").agg(pl.len().alias("count"))
    kinds = counts.group_by("site", "bytes").agg(
        quarters=pl.len(),
        count=pl.col("count").sum(),
        least=pl.col("count").min(),
        most=pl.col("count").max(),
    )
    steady = kinds.filter(
        pl.col("quarters") == QUARTERS,
        pl.col("most") <= pl.col("least") * memory_thresholds.EVEN,
    ).with_columns(total=pl.col("count") * pl.col("bytes"))
    total = int(steady["total"].sum())
    if steady.is_empty() or total < least:
        return None
    leaking = left.join(steady, on=["site", "bytes"], how="semi")
    confidence = _confidence(steps, rows, leaking)
    return None if confidence is None else Growth(steady, total, confidence)


def _confidence(steps: Steps, rows: pl.DataFrame, left: pl.DataFrame) -> float | None:
    """Return how sure it is that steps left the blocks, 0 where one pass may have.

    Phases that mark steps are the surest. Without them each quarter has to free as much as it
    leaves, else None: setting up frees nothing. Layers of one forward pass free temporaries. The
    allocated bytes fall within a quarter by as much at once, or again and again, each time by more
    blocks than one expression makes, and by twice the bytes left in between.
    """
    if steps.by_phase:
        return 0.9
    freed = rows.filter(pl.col("freed").is_not_null())
    left_bytes = left.group_by("quarter").agg(pl.col("bytes").sum())
    freed_bytes = freed.group_by("quarter").agg(pl.col("bytes").sum(), pl.len().alias("blocks"))
    both = left_bytes.join(freed_bytes, on="quarter", how="left", suffix="_freed")
    if not (both["bytes_freed"].fill_null(0) >= both["bytes"]).all():
        return None
    levels = steps.by_quarter(steps.levels)
    falls = [
        (part, blocks, *_falls(levels.filter(pl.col("quarter") == quarter)["allocated_bytes"]))
        for quarter, part, blocks in both.select("quarter", "bytes", "blocks").iter_rows()
    ]
    if all(deepest >= part for part, _, deepest, _ in falls):
        return 0.7
    again = all(
        count >= memory_thresholds.CYCLES
        and count * deepest >= 2 * part
        and blocks > count * memory_thresholds.FEW_BLOCKS
        for part, blocks, deepest, count in falls
    )
    return 0.6 if again else 0.0


def _falls(levels: pl.Series) -> tuple[int, int]:
    """Return the deepest fall of a level below what it was before, and the falls half as deep."""
    deepest = int((levels.cum_max() - levels).max() or 0)  # type: ignore[arg-type]  # integers
    highest = count = 0
    for level in levels:
        highest = max(highest, level)
        if deepest and highest - level >= deepest / 2:
            count, highest = count + 1, level
    return deepest, count
