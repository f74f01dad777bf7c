"""What decode steps would save if requests that wait were in them.

Most of a decode step is the same for one request and for many, as the weights are read once. So
with n of N possible requests each token costs up to N / n times as much. A fuller step is longer by
the slope of steps over requests, where steps differ in these, and takes what as many tokens of
prompts do at least: their arithmetic is the same. No step is taken to be longer than the bound.
"""

import polars as pl

from harness.analysis import serving
from harness.analysis.diagnose import serving_thresholds, thresholds
from harness.analysis.diagnose.serving_view import ServingView


def queued(view: ServingView, steps: pl.DataFrame) -> pl.DataFrame:
    """Return those of steps in which requests wait, with live and ended rows, and held.

    Live rows bring a token; others' requests have ended.
    """
    live = pl.min_horizontal("emitted", "requests")
    waited = steps.filter(pl.col("waiting") > 0, pl.col("emitted") > 0)
    return with_held(view, waited).with_columns(live=live, ended=pl.col("requests") - live)


def with_held(view: ServingView, steps: pl.DataFrame) -> pl.DataFrame:
    """Return steps with held: rows that the cache holds at today's blocks per row, null if unknown.

    In CACHE_FULL of it, as what lies between is too small for most.
    """
    blocks = pl.col("kv_blocks") / pl.col("requests")
    held = (serving_thresholds.CACHE_FULL * pl.lit(view.blocks, dtype=pl.Int64) / blocks).floor()
    return steps.with_columns(held=pl.when(blocks > 0).then(held))


def fuller(view: ServingView, steps: pl.DataFrame, room: pl.Expr) -> pl.DataFrame:
    """Return the steps that more requests fit in, with target and saved.

    ``room``: rows that fit at most. ``target``: requests that a step could decode, ``saved``: ns
    that its tokens would then take less.
    """
    slope = _slope(view.plain)
    if view.itl_bound_ns and slope:
        more = ((view.itl_bound_ns - pl.col("period_ns")) / slope).floor().clip(0)
        room = pl.min_horizontal(room, pl.col("requests") + more)
    target = pl.min_horizontal(pl.col("live") + pl.col("waiting"), room)
    added = (pl.col("target") - pl.col("requests")).clip(0)
    arithmetic = pl.col("target") * (view.law.token_ns if view.law else 0.0)
    longer = pl.max_horizontal(pl.col("period_ns") + slope * added, arithmetic)
    less = longer * pl.col("live") / pl.col("target")
    told = steps.with_columns(target=target).filter(pl.col("target") >= pl.col("live") + 1)
    return told.with_columns(saved=(pl.col("period_ns") - less).clip(0))


def _slope(plain: pl.DataFrame) -> float:
    """Return by how many ns a step is longer for each request that it decodes, least squares."""
    spread = pl.col("requests").var()
    slope = pl.when(spread > 0).then(pl.cov("period_ns", "requests") / spread)
    told: float | None = plain.select(slope).item()
    return max(told or 0.0, 0.0)


def paging(view: ServingView) -> float:
    """Return how many times the rows fit that do, if each held blocks for its tokens alone.

    More than 1 where rows that decode take no block, in tokens that would fill some: each holds
    room for its last token from the start. At the mean, it is halfway through its output.
    """
    follows = pl.col("step").diff() == 1
    taken = pl.when(follows).then(pl.col("kv_blocks").diff())
    steps = view.plain.with_columns(taken=taken).drop_nulls("taken")
    several = thresholds.REPEATED * serving_thresholds.LARGEST_BLOCK
    if int(steps["emitted"].sum()) < several or (steps["taken"] > 0).any():
        return 1.0
    requests = serving.lives(view.tables)
    prompts, outputs = (int(requests[name].sum()) for name in ("prompt_tokens", "output_tokens"))
    return (prompts + outputs) / max(prompts + outputs / 2, 1)
