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
    """Blocks left evenly in each quarter, by the columns ``keys``: line and size, or line alone.

    ``confidence`` is that steps left them: 0 where it may be the layers of a single pass.
    """

    kinds: pl.DataFrame
    keys: tuple[str, ...]
    total: int
    confidence: float


def growth(steps: Steps, least: float) -> Growth | None:
    """Return the blocks left evenly in the measured steps, None below ``least`` bytes.

    Blocks of one line and size count together; where these are too few, blocks of one line, as
    steps of changing length leave them.
    """
    if steps.last - steps.first + 1 < QUARTERS:
        return None
    rows = steps.by_quarter(steps.blocks)
    left = rows.filter(pl.col("freed").is_null())
    for keys in (("site", "bytes"), ("site",)):
        steady = _steady(left, keys)
        total = int(steady["total"].sum())
        if steady.is_empty() or total < least:
            continue
        leaking = left.join(steady.select(keys), on=keys, how="semi")
        confidence = _confidence(steps, rows, leaking, keys)
        return None if confidence is None else Growth(steady, keys, total, confidence)
    return None


def _steady(left: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Return the kinds of blocks, by ``keys``, of which each quarter leaves about as many."""
    size = pl.col("bytes").sum()
    by_quarter = left.group_by(*keys, "quarter").agg(count=pl.len(), size=size)
    kinds = by_quarter.group_by(keys).agg(
        quarters=pl.len(),
        even=_even("count") & _even("size"),
        count=pl.col("count").sum(),
        total=pl.col("size").sum(),
    )
    return kinds.filter(pl.col("quarters") == QUARTERS, "even")


def _even(column: str) -> pl.Expr:
    return pl.col(column).max() <= pl.col(column).min() * memory_thresholds.EVEN


def _confidence(
    steps: Steps, rows: pl.DataFrame, left: pl.DataFrame, keys: tuple[str, ...]
) -> float | None:
    """Return how sure it is that steps left the blocks, 0 where one pass may have.

    Phases that mark steps are the surest. Without them the allocated bytes have to fall within each
    quarter by as much as it leaves at once, or again and again, each time by more blocks than one
    expression makes, and by twice the bytes left in between. Or each quarter leaves a scalar beside
    larger blocks, as graphs do that hang on a loss, and the last does only what each did: one pass
    ends in layers that it has once. None where it does so, and where less is freed than left, as in
    setting up, and nothing tells steps.
    """
    if steps.by_phase:
        return 0.9
    freed = rows.filter(pl.col("freed").is_not_null())
    left_bytes = left.group_by("quarter").agg(pl.col("bytes").sum())
    freed_bytes = freed.group_by("quarter").agg(pl.col("bytes").sum(), pl.len().alias("blocks"))
    both = left_bytes.join(freed_bytes, on="quarter", how="left", suffix="_freed")
    repeats = _repeats(rows, keys)
    graphs = 0.6 if repeats and _graphs(left) else None
    if not (both["bytes_freed"].fill_null(0) >= both["bytes"]).all():
        return graphs
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
    return 0.6 if again else graphs or (0.0 if repeats else None)


def _graphs(left: pl.DataFrame) -> bool:
    """Return whether each quarter leaves a scalar and, of another line, a larger block."""
    scalar = pl.col("bytes") <= memory_thresholds.SCALAR
    return all(
        left.filter(of_kind)["quarter"].n_unique() == QUARTERS for of_kind in (scalar, ~scalar)
    )


def _repeats(rows: pl.DataFrame, keys: tuple[str, ...]) -> bool:
    """Return whether all kinds of blocks of the last quarter are made in each quarter."""
    last = rows.filter(pl.col("quarter") == QUARTERS - 1).select(keys).unique()
    made = rows.join(last, on=keys, how="semi")
    return bool(
        (made.group_by(keys).agg(pl.col("quarter").n_unique())["quarter"] == QUARTERS).all()
    )


def _falls(levels: pl.Series) -> tuple[int, int]:
    """Return the deepest fall of a level below what it was before, and the falls half as deep."""
    deepest = int((levels.cum_max() - levels).max() or 0)  # type: ignore[arg-type]  # integers
    highest = count = 0
    for level in levels:
        highest = max(highest, level)
        if deepest and highest - level >= deepest / 2:
            count, highest = count + 1, level
    return deepest, count
