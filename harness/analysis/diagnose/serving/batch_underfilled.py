"""Requests wait in the queue while steps decode for fewer than they could.

What could be added is what waits, as far as rows and cache allow it: rows whose requests have ended
(a static batch waits for its longest), or free blocks at today's blocks per request. Where blocks
are reserved for a request's last token, paging would let more in: at the mean, a request is halfway
through its output. Without the number of all blocks, as many rows fit as once ran.

Where to look: The engine's log has requests waiting while few run and the cache has room (vLLM:
Running, Waiting, GPU KV cache usage). In a picture of requests grey rows, or rows that are computed
after their request has ended. A decode step takes about as long for few rows as for many, as it
reads all weights: its products are dram-bound.

Neighbours: kv-cache-pressure has no room for another request. scheduler-bubble leaves the device
idle between steps; here steps are busy, for few tokens. Without a queue, few rows are a small load
and no fault.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis.diagnose import fuller_steps, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView

_ROWS = "let requests enter as others end (continuous batching), instead of batch by batch"
_PAGED = "give requests blocks of the cache as they fill (paging), not all at once"
_MORE = "let more requests run at once (max_num_seqs), as far as the cache holds them"
KIND = FindingKind(
    "batch-underfilled",
    "serving",
    "Requests wait in the queue while steps decode for fewer than they could.",
    fix=(_ROWS, _MORE, _PAGED),
)


def found(view: ServingView) -> Iterator[Finding]:
    """Yield the time that fuller steps would save for the same tokens."""
    if not view.known:
        return
    paging = fuller_steps.paging(view)
    steps = fuller_steps.fuller(view, fuller_steps.queued(view, view.plain), _room(view, paging))
    if steps.is_empty():
        return
    live, target, waiting, ended = steps.select(
        pl.col("live", "target", "waiting", "ended").mean()
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
    full = steps.filter(pl.col("held") <= pl.col("requests")).height > steps.height / 2
    seen = view.plain["requests"].max()
    below = steps.filter(pl.col("requests") < seen).height > steps.height / 2
    by_batch = ended >= 1 or (below and not full)
    first = _ROWS if by_batch else _PAGED if full else _MORE
    rival = _PAGED if paging > 1 and first is not _PAGED else _MORE
    finding = KIND.finding("the engine", evidence, share=share, gain=gain, confidence=0.8)
    yield replace(finding, fix=tuple(dict.fromkeys((first, rival))))


def _room(view: ServingView, paging: float) -> pl.Expr:
    """Return how many rows fit; of paged blocks at their most a row, as requests grow together."""
    if not view.blocks:
        return pl.lit(view.plain["requests"].max())
    held = pl.col("held").min() if paging == 1 else (paging * pl.col("held")).floor()
    return pl.max_horizontal("requests", held)
