"""Requests wait in the queue while steps decode for fewer than they could.

Most of a decode step is the same for one request and for many, as the weights are read once. So
with n of N possible requests each token costs up to N / n times as much. What could be added is
what waits, as far as rows and cache allow it: rows whose requests have ended (a static batch waits
for its longest), or free blocks of the cache at today's blocks a request. Where blocks do not grow
while requests decode, each holds room for its last token from the start, and paging would let more
in. A longer step is taken into account by its slope over requests, where steps differ in these, and
so is the load's bound.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis.diagnose import serving_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView
from harness.analysis.serving import lives

_ROWS = "let requests enter as others end (continuous batching), instead of batch by batch"
_PAGED = "give requests blocks of the cache as they fill (paging), not all at once"
_MORE = "let more requests run at once (max_num_seqs), as far as the cache holds them"
KIND = FindingKind(
    "batch-underfilled",
    "serving",
    "Requests wait in the queue while steps compute fewer than they could.",
    fix=(_ROWS, _MORE, _PAGED),
)


def found(view: ServingView) -> Iterator[Finding]:
    """Yield the time that fuller steps would save for the same tokens."""
    queued = view.plain.filter(pl.col("waiting") > 0, pl.col("emitted") > 0)
    if not view.known or queued.is_empty():
        return
    reserved = _reserved(view)
    steps = _filled(view, queued, reserved=reserved).filter(pl.col("target") >= pl.col("live") + 1)
    if steps.is_empty():
        return
    live, target, waiting, ended, use = steps.select(
        pl.col("live", "target", "waiting", "ended", "use").mean()
    ).row(0)
    share = view.part(float(steps["period_ns"].sum()))
    evidence = (
        view.percent("time of steps that could hold waiting requests", share, thresholds.MATTERS),
        view.number("requests that such a step decodes", live),
        view.number("requests that it could decode", target),
        view.number("requests that wait", waiting),
        view.number("rows of requests that have ended", ended),
    )
    gain = view.part(float(steps["saved"].sum()))
    full = reserved and use is not None and use >= serving_thresholds.CACHE_FULL
    first = _ROWS if ended >= 1 else _PAGED if full else _MORE
    rival = _PAGED if reserved and first is not _PAGED else _MORE
    finding = KIND.finding("the engine", evidence, share=share, gain=gain, confidence=0.8)
    yield replace(finding, fix=tuple(dict.fromkeys((first, rival))))


def _filled(view: ServingView, queued: pl.DataFrame, *, reserved: bool) -> pl.DataFrame:
    """Return steps with live rows, ended ones, target, and saved: ns for the tokens of the step.

    Without the number of all blocks, the cache is known to hold as many rows as it once did.
    """
    most = view.plain["requests"].max()
    use = pl.col("kv_blocks") / (view.blocks or None)
    paging = _unfilled(view) if reserved else 1.0
    held = pl.col("requests") * paging * serving_thresholds.CACHE_FULL / use
    room = pl.max_horizontal(pl.col("requests"), pl.when(use > 0).then(held.floor()))
    slope = _slope(view.plain)
    if view.itl_bound_ns and slope:
        longer = ((view.itl_bound_ns - pl.col("period_ns")) / slope).floor().clip(0)
        room = pl.min_horizontal(room, pl.col("requests") + longer)
    live = pl.min_horizontal("emitted", "requests")
    told = queued.with_columns(
        live=live,
        ended=pl.col("requests") - live,
        use=use,
        target=pl.min_horizontal(live + pl.col("waiting"), room if view.blocks else pl.lit(most)),
    )
    added = (pl.col("target") - pl.col("requests")).clip(0)
    fuller = (pl.col("period_ns") + slope * added) * pl.col("live") / pl.col("target")
    return told.with_columns(saved=(pl.col("period_ns") - fuller).clip(0))


def _slope(plain: pl.DataFrame) -> float:
    """Return by how many ns a step is longer for each request that it decodes, least squares."""
    spread = pl.col("requests").var()
    slope = pl.when(spread > 0).then(pl.cov("period_ns", "requests") / spread)
    told: float | None = plain.select(slope).item()
    return max(told or 0.0, 0.0)


def _reserved(view: ServingView) -> bool:
    """Return whether requests that decode take no block, in tokens that would fill some."""
    follows = pl.col("step").diff() == 1
    steps = view.plain.with_columns(taken=pl.when(follows).then(pl.col("kv_blocks").diff()))
    counted = steps.drop_nulls("taken")
    return not (counted["taken"] > 0).any() and (
        counted["emitted"].sum() >= thresholds.REPEATED * serving_thresholds.LARGEST_BLOCK
    )


def _unfilled(view: ServingView) -> float:
    """Return tokens that requests come to hold over those that they hold halfway, at the mean."""
    prompts, outputs = (
        lives(view.tables).select(pl.col("prompt_tokens", "output_tokens").sum()).row(0)
    )
    return float(prompts + outputs) / max(prompts + outputs / 2, 1)
