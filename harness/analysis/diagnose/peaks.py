"""Sums up what the peak of a snapshot is made of: said of every snapshot, whatever is found."""

import polars as pl

from harness.analysis.diagnose.memory_steps import per_step
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.memory_peak import Held, MemoryPeak
from harness.evidence.capture import NO_STACK

_LINES = 3
NEAR, MIDDLE = 0.05, 0.5
"""Of the range of levels: how near to the highest a peak is, and how low the level is between two.
Steps that differ by a batch's length reach peaks that differ by less; activations are freed to the
last before the next step."""


def peak(view: MemoryView) -> MemoryPeak | None:
    """Return the composition of the peak, None without a history of blocks."""
    if not view.recorded or view.blocks.is_empty():
        return None
    at, level = view.top
    live = view.by_site(view.live(at))
    known = live.filter(pl.col("site") != NO_STACK)
    left = view.blocks.filter(pl.col("index") >= view.first, pl.col("freed").is_null())
    levels = view.levels["allocated_bytes"]
    start = view.before if view.first == 0 else int(levels[0])
    return MemoryPeak(
        source=view.source,
        allocated=level,
        times=_times(levels),
        reserved=_reserved(view, at),
        before=max(level - int(known["bytes"].sum()), 0),
        sites=_held(known.head(_LINES)),
        other_bytes=int(known["bytes"].slice(_LINES).sum()),
        start=start,
        end=int(levels[-1]),
        left=_held(view.by_site(left.filter(pl.col("site") != NO_STACK)).head(_LINES)),
        left_bytes=int(left["bytes"].sum()),
        growth=per_step(view),
    )


def _times(levels: pl.Series) -> int:
    """Return how often levels rise into their highest twentieth from below their middle."""
    low, high = (int(bound or 0) for bound in (levels.min(), levels.max()))  # type: ignore[arg-type]  # integers
    span = high - low
    rows = pl.DataFrame({"level": levels})
    at_peak, below = (
        pl.col("level") >= high - span * NEAR,
        pl.col("level") <= low + span * MIDDLE,
    )
    state = pl.when(at_peak).then(1).when(below).then(0)
    rose = state.forward_fill().fill_null(0).diff().fill_null(state.first()) == 1
    return int(rows.select(rose.sum()).item()) if span else 0


def _reserved(view: MemoryView, at: int) -> int:
    rows = view.levels.filter(pl.col("index") == at)["reserved_bytes"]
    return int(rows[0]) if rows.len() else view.peak


def _held(rows: pl.DataFrame) -> tuple[Held, ...]:
    return tuple(Held(site, held, blocks) for site, held, blocks in rows.iter_rows())
