"""Requests that decode wait for the prompts of others.

A token that comes from a step with prefill comes later by what the step takes longer. That counts
where it makes the p99 time between tokens miss its bound: the load's, else STALL times the median
without prefill. All steps together compute the same prompts however they are cut, so a token budget
a step (chunked prefill; Agrawal et al., Sarathi-Serve, OSDI 2024) makes the longest waits shorter
and the mean no less; engines of their own for prefill take the waits away (Zhong et al., DistServe,
OSDI 2024): their gain is the finding's. The budget follows from the law of steps: the most tokens
with which a step meets the bound.

Where to look: The p99 time between tokens is several times the median. In a picture of requests all
rows turn pale at once, above or below a row in prefill; in a timeline, a step with large products
stands between steps that are all alike.

Neighbours: kv-cache-pressure delays the requests that are preempted, and the others go on.
scheduler-bubble delays every step by about as much. batch-underfilled makes requests wait for their
first token, not between tokens.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis.diagnose import serving_thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView

_CHUNK = "chunked prefill"
_APART = "engines of their own for prefill and decode: no token waits for a prompt"
KIND = FindingKind(
    "prefill-interference",
    "serving",
    "Requests that decode wait while the prompts of others are computed.",
    fix=(f"{_CHUNK}, with a token budget a step", _APART),
)


def found(view: ServingView) -> Iterator[Finding]:
    """Yield the part of the times between tokens that prefill makes longer."""
    usual = view.undisturbed_ns
    if not view.known or not usual:
        return
    bound = view.itl_bound_ns or serving_thresholds.STALL * usual
    with_prefill = view.gaps.filter(pl.col("prefill"), ~pl.col("paused"))
    late = with_prefill.filter(pl.col("itl_ns") > bound).height / view.gaps.height
    if late < serving_thresholds.TAIL:
        return
    longer = float((with_prefill["itl_ns"] - usual).clip(0).sum())
    share = longer / view.between_ns
    evidence = [
        view.ms("p99 time between tokens", view.late_ns, bound),
        view.ms("median time between tokens, without prefill", usual),
        view.percent("tokens that prefill delays beyond the bound", late, serving_thresholds.TAIL),
        view.percent("time between tokens that prefill adds", share),
    ]
    advised, budget = _budget(view, bound)
    yield replace(
        KIND.finding(
            "the engine", (*evidence, *budget), share=share, gain=share, confidence=_sure(view)
        ),
        fix=advised or KIND.fix,
    )


def _sure(view: ServingView) -> float:
    return 0.9 if view.law and view.law.error <= serving_thresholds.LAW_ERROR else 0.7


def _budget(view: ServingView, bound: float) -> tuple[tuple[str, ...], tuple[Evidence, ...]]:
    """Return the remedies, the better first, and the law's numbers; nothing where it fails.

    A budget has to compute prompts as fast as they come; else they queue, and engines apart are
    better.
    """
    law = view.law
    if law is None or not law.token_ns:
        return (), ()
    told = (
        view.ms("a step without prefill, by the law", law.fixed_ns),
        view.ms("1,000 tokens of prompts more", 1_000 * law.token_ns),
        view.percent("error of the law", law.error, serving_thresholds.LAW_ERROR),
    )
    if law.error > serving_thresholds.LAW_ERROR:
        return (), told
    prompts = int((bound - law.fixed_ns) / law.token_ns)
    running = view.plain["requests"].median()
    rows = round(running) if isinstance(running, float) else 1
    spans = view.steps.select(pl.col("end_ns").max() - pl.col("start_ns").min()).item()
    needed = int(view.carrying["prefill"].sum()) / max(spans, 1)
    meets = view.number("tokens of prompts with which a step meets the bound", max(prompts, 0))
    numbers = (*told, meets)
    if prompts < 1 or prompts / law.step_ns(prompts) < needed:
        slow = "a token budget that meets the bound computes prompts slower than they come"
        return (_APART, f"{_CHUNK}, with a laxer bound: {slow}"), numbers
    chunk = (
        f"{_CHUNK}: at most {prompts + rows:,} tokens per step, for times of {bound / 1e6:.3g} ms"
    )
    return (chunk, _APART), numbers
