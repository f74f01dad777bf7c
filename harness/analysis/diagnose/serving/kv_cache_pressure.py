"""The cache is full: requests wait for room in it, or are preempted and computed again.

A preempted request gives its blocks back. What it held is computed again when it goes on, unless it
was copied to host memory: that is what steps computed beyond what all requests need once, and it
takes the time of as many tokens of prompts. Steps that decode while requests wait, with the cache
full, could decode for more if it held MORE_CACHE times as much. Blocks that are reserved and empty
are batch-underfilled.

Where to look: The blocks in use stay at the number of all blocks, requests wait, and the engine
counts preemptions. In a picture of requests a row that had begun to decode stops, and is in prefill
or decode again later.

Neighbours: batch-underfilled has blocks that are reserved and empty, or a limit below what the
cache holds. What is computed again is a prefill, too, so prefill-interference may stand beside it:
the cache comes first.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import fuller_steps, serving_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView

KIND = FindingKind(
    "kv-cache-pressure",
    "serving",
    "The key-value cache is full: requests wait for room, or are preempted and computed again.",
    fix=(
        "give the cache more room: keys and values of 8 bits, more memory or GPUs, prefixes that"
        " requests share",
        "where requests are preempted: keep what they held in host memory (offloading), or let"
        " fewer run at once (max_num_seqs), which then wait in the queue",
    ),
)


def found(view: ServingView) -> Iterator[Finding]:
    """Yield the time of what is computed twice, and what fuller steps would save."""
    full, pauses = _full(view), view.tables["load_pauses"]
    if not view.known or (view.blocks and full.is_empty()):
        return
    limited, again = _limited(view, full), _again(view) if pauses.height else 0.0
    twice = min(again * int(view.steps["tokens"].sum()), int(view.carrying["prefill"].sum()))
    recomputed = view.part(twice * view.law.token_ns if view.law else 0.0)
    delayed = float(view.gaps.filter("paused")["itl_ns"].sum()) / view.between_ns
    gain = recomputed + view.part(float(limited["saved"].sum()))
    share = recomputed + view.part(float(limited["period_ns"].sum()))
    put_off = pauses["request"].n_unique() / view.tables["load_requests"].height
    evidence = (
        view.percent("tokens computed again", again),
        view.percent("time of computing them", recomputed),
        view.percent("requests preempted", put_off),
        view.percent("time between tokens in which requests were preempted", delayed),
        view.percent("time of steps for which requests wait", share - recomputed),
    )
    counts = gain >= thresholds.MATTERS
    yield KIND.finding(
        "the key-value cache",
        evidence,
        share=share if counts else delayed,
        gain=gain if counts else None,
        confidence=0.8 if view.blocks else 0.6,
    )


def _full(view: ServingView) -> pl.DataFrame:
    """Return the steps that only decode, and in which the cache holds no further row."""
    held = (fuller_steps.paging(view) * pl.col("held")).floor()
    return fuller_steps.with_held(view, view.plain).filter(held <= pl.col("requests"))


def _limited(view: ServingView, full: pl.DataFrame) -> pl.DataFrame:
    """Return those of the steps with a full cache for which requests wait, as fuller does."""
    steps = fuller_steps.queued(view, full).filter(pl.col("ended") == 0)
    more = pl.max_horizontal("requests", (serving_thresholds.MORE_CACHE * pl.col("held")).floor())
    return fuller_steps.fuller(view, steps, more)


def _again(view: ServingView) -> float:
    """Return the part of all computed tokens beyond those that requests need once; 0 if unknown.

    An output's last token is not computed on.
    """
    rows = view.tables["load_requests"].drop_nulls("first_ns")
    once = int((rows["prompt_tokens"] + rows["output_tokens"] - 1).sum())
    every = int(view.tables["load_steps"]["tokens"].sum())
    return max(every - once, 0) / max(every, 1)
