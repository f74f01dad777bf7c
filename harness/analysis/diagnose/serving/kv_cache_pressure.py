"""The cache is full: requests wait for room in it, or are preempted and computed again.

A preempted request gives its blocks back. What it held, prompt and output, is computed again when
it goes on, unless it was copied to host memory: so at most what requests held then, and no more
than steps computed beyond what all requests need once. The time of it is that of as many tokens of
prompts. Steps that decode while requests wait, with the cache full, could decode for more if it
held MORE_CACHE times as much. Blocks that are reserved and empty are batch-underfilled.
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
    full = _full(view)
    if not view.known or (view.blocks and full.is_empty()):
        return
    pauses, limited, use = _pauses(view), _limited(view, full), _use(view)
    tokens, again = _again(view, pauses)
    recomputed = view.part(again * _token_ns(view))
    delayed = float(view.gaps.filter("paused")["itl_ns"].sum()) / view.between_ns
    gain = recomputed + view.part(float(limited["saved"].sum()))
    share = recomputed + view.part(float(limited["period_ns"].sum()))
    put_off = pauses["request"].n_unique() / view.tables["load_requests"].height
    evidence = (
        view.percent("tokens computed again", again / max(tokens, 1)),
        view.percent("time of computing them", recomputed),
        view.percent("requests preempted", put_off),
        view.percent("time between tokens in which requests were preempted", delayed),
        view.percent("time of steps for which requests wait", share - recomputed),
        *([] if use is None else [view.percent("cache in use, at most", use)]),
    )
    counts = gain >= thresholds.MATTERS
    yield KIND.finding(
        "the key-value cache",
        evidence,
        share=share if counts else delayed,
        gain=gain if counts else None,
        confidence=0.6 if use is None else 0.8,
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


def _use(view: ServingView) -> float | None:
    """Return the largest part of the cache in use after a step, None where it is not known."""
    used = view.steps["kv_blocks"].max()
    return used / view.blocks if isinstance(used, int) and view.blocks else None


def _pauses(view: ServingView) -> pl.DataFrame:
    """Return the pauses since the warm-up with held: the tokens that each request had then."""
    tokens = (
        view.tables["load_tokens"]
        .sort("time_ns")
        .with_columns(output=pl.int_range(1, pl.len() + 1).over("request"))
    )
    known = (
        view.tables["load_pauses"]
        .sort("start_ns")
        .join_asof(
            tokens,
            left_on="start_ns",
            right_on="time_ns",
            by="request",
            coalesce=False,
            check_sortedness=False,
        )
    )
    prompts = view.tables["load_requests"].select("request", "prompt_tokens")
    held = pl.col("prompt_tokens") + pl.col("output").fill_null(0)
    since = view.steps["start_ns"].min()
    return (
        known.join(prompts, on="request", how="left")
        .filter(pl.col("start_ns") >= since)
        .select("request", "end_ns", held=held)
    )


def _again(view: ServingView, pauses: pl.DataFrame) -> tuple[int, int]:
    """Return the tokens that all steps computed, and how many of them a second time."""
    rows = view.tables["load_requests"].drop_nulls("first_ns")
    once = int((rows["prompt_tokens"] + rows["output_tokens"] - 1).sum())
    every = int(view.tables["load_steps"]["tokens"].sum())
    held = int(pauses.drop_nulls("end_ns")["held"].sum())
    return every, min(held, max(every - once, 0))


def _token_ns(view: ServingView) -> float:
    """Return the time of a token of a prompt: of steps with prefill, less what decodes take."""
    fixed = view.law.fixed_ns if view.law else 0.0
    alone = pl.when(pl.col("kind") == "prefill").then(0.0).otherwise(fixed)
    spent = view.carrying.select((pl.col("period_ns") - alone).clip(0).sum()).item()
    return float(spent) / max(int(view.carrying["prefill"].sum()), 1)
