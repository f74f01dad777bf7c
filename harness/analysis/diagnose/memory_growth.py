"""What grows in a snapshot: blocks of one line and size that are left again and again."""

from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.memory_repeats import repeated
from harness.evidence.roles import PROGRAM

QUARTERS = 4
"""Parts of the measured steps, equal in events, in each of which what grows has to grow."""
_KEYS = (("site", "bytes"), ("site",))
_QUEUED, _OWN_LOOP = 0.7, 0.5
"""Confidence in what repeats tell: that a queue grows; that a loop of the program's own leaves what
it does not free, which layers could do that are no modules."""


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

    ``confidence`` is that steps left them: 0 where it may be the layers of a single pass. Of what
    is ``queued`` the oldest are freed, and more are made.
    """

    kinds: pl.DataFrame
    keys: tuple[str, ...]
    total: int
    confidence: float
    queued: bool = False


def growth(steps: Steps, least: float) -> Growth | None:
    """Return the blocks left evenly in the measured steps, None below ``least`` bytes.

    Blocks of one line and size count together; where these are too few, blocks of one line, as
    steps of changing length leave them.
    """
    if steps.last - steps.first + 1 < QUARTERS:
        return None
    rows = steps.by_quarter(steps.blocks)
    left = rows.filter(pl.col("freed").is_null())
    for keys in _KEYS:
        steady = _steady(left, keys)
        total = int(steady["total"].sum())
        if steady.is_empty() or total < least:
            continue
        leaking = left.join(steady.select(keys), on=keys, how="semi")
        confidence = _confidence(steps, rows, leaking, keys)
        return None if confidence is None else Growth(steady, keys, total, confidence)
    return _queue(rows, least)


def _queue(rows: pl.DataFrame, least: float) -> Growth | None:
    """Return the blocks that a queue holds more of with each repeat, None below ``least`` bytes.

    In each quarter of the repeats a line's blocks are freed that waited, always the oldest, and as
    many more are made as in the other quarters. What a pass through layers makes, or an update of
    weight after weight, is not freed while it goes on.
    """
    repeats = repeated(rows)
    if repeats is None:
        return None
    waited = _waited(rows, repeats.begun)
    left = pl.col("freed").is_null()
    in_turn = pl.col("index").filter(~left).max() < pl.col("index").filter(left).min()
    queues = waited.group_by("site").agg(in_turn.alias("in_turn")).filter("in_turn")
    changes = pl.concat(
        [
            waited.with_columns(at="index", change=1),
            waited.drop_nulls("freed").with_columns(at="freed", change=-1),
        ]
    ).join(queues, on="site", how="semi")
    cuts = [repeats.begun[repeats.count * part // QUARTERS] for part in range(QUARTERS + 1)]
    whole = changes.filter(pl.col("at").is_between(cuts[0], cuts[-1], closed="left"))
    quarter = pl.Series(cuts[1:]).search_sorted(whole["at"], side="right")
    change = pl.col("change")
    added = (
        whole.with_columns(quarter=quarter)
        .group_by("site", "quarter")
        .agg(count=change.sum(), size=(change * pl.col("bytes")).sum(), freed=(change < 0).sum())
    )
    steady = _even_kinds(added.filter(pl.col("freed") > 0), ("site",))
    total = int(steady["total"].sum())
    if steady.is_empty() or total < least:
        return None
    return Growth(steady, ("site",), total, _QUEUED, queued=True)


def _waited(rows: pl.DataFrame, begun: pl.Series) -> pl.DataFrame:
    """Return the blocks that outlive the repeat that made them; ``begun`` are the repeats'."""
    alive = rows["freed"].fill_null(rows["index"].max())
    later = begun.search_sorted(alive) > begun.search_sorted(rows["index"], side="right")
    return rows.filter(later | rows["freed"].is_null())


def _own_loop(rows: pl.DataFrame) -> bool:
    """Return whether repeats are told by a line of the program itself, outside of all modules.

    Layers are called by a module's forward pass, which is a loop of the module's.
    """
    repeats = repeated(rows)
    return repeats is not None and bool(
        (rows.filter(pl.col("site") == repeats.line)["role"].fill_null("") == PROGRAM).all()
    )


def _steady(left: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Return the kinds of blocks, by ``keys``, of which each quarter leaves about as many."""
    size = pl.col("bytes").sum()
    return _even_kinds(left.group_by(*keys, "quarter").agg(count=pl.len(), size=size), keys)


def _even_kinds(by_quarter: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Return the kinds of which each quarter has about as many, with count and total of all."""
    kinds = (
        by_quarter.filter(pl.col("count") > 0)
        .group_by(keys)
        .agg(
            quarters=pl.len(),
            even=_even("count") & _even("size"),
            count=pl.col("count").sum(),
            total=pl.col("size").sum(),
        )
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
    if again or graphs:
        return 0.6
    if not repeats:
        return None
    return _OWN_LOOP if _own_loop(rows) else 0.0


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
