"""What decode steps would save if requests that wait were in them.

Most of a decode step is the same for one request and for many, as the weights are read once. So
with n of N possible requests each token costs up to N / n times as much. A fuller step is longer by
the slope of steps over requests, where steps differ in these, and by the bound of a load no longer.
"""

import polars as pl

from harness.analysis.diagnose import serving_thresholds, thresholds
from harness.analysis.diagnose.serving_view import ServingView


def queued(view: ServingView) -> pl.DataFrame:
    """Return the steps that only decode while requests wait, with live, ended rows and use.

    Live rows bring a token; others' requests have ended. ``use``: part of the cache, null where it
    is not known.
    """
    live = pl.min_horizontal("emitted", "requests")
    return view.plain.filter(pl.col("waiting") > 0, pl.col("emitted") > 0).with_columns(
        live=live,
        ended=pl.col("requests") - live,
        use=pl.col("kv_blocks") / pl.lit(view.blocks, dtype=pl.Int64),
    )


def fuller(view: ServingView, steps: pl.DataFrame, room: pl.Expr) -> pl.DataFrame:
    """Return the steps that more requests fit in, with target and saved.

    ``room``: rows that fit at most. ``target``: requests that a step could decode, ``saved``: ns
    that its tokens would then take less.
    """
    slope = _slope(view.plain)
    if view.itl_bound_ns and slope:
        longer = ((view.itl_bound_ns - pl.col("period_ns")) / slope).floor().clip(0)
        room = pl.min_horizontal(room, pl.col("requests") + longer)
    target = pl.min_horizontal(pl.col("live") + pl.col("waiting"), room)
    added = (pl.col("target") - pl.col("requests")).clip(0)
    less = (pl.col("period_ns") + slope * added) * pl.col("live") / pl.col("target")
    told = steps.with_columns(target=target).filter(pl.col("target") >= pl.col("live") + 1)
    return told.with_columns(saved=(pl.col("period_ns") - less).clip(0))


def _slope(plain: pl.DataFrame) -> float:
    """Return by how many ns a step is longer for each request that it decodes, least squares."""
    spread = pl.col("requests").var()
    slope = pl.when(spread > 0).then(pl.cov("period_ns", "requests") / spread)
    told: float | None = plain.select(slope).item()
    return max(told or 0.0, 0.0)


def reserved(view: ServingView) -> bool:
    """Return whether requests that decode take no block, in tokens that would fill some.

    Then each holds room for its last token from the start.
    """
    follows = pl.col("step").diff() == 1
    taken = pl.when(follows).then(pl.col("kv_blocks").diff())
    steps = view.plain.with_columns(taken=taken).drop_nulls("taken")
    several = thresholds.REPEATED * serving_thresholds.LARGEST_BLOCK
    return int(steps["emitted"].sum()) >= several and not (steps["taken"] > 0).any()
