"""Ranks wait in all-to-alls, because the experts of one have more tokens than those of others.

A mixture of experts sends each token to the rank of its expert and back, by all-to-alls, in which
every rank waits for the last one (harness.analysis.diagnose.rank_waits); what is an all-to-all,
harness.analysis.collective_kinds says. It shows as such waits
behind work that differs between the ranks: kernels that ran since the collective before have other
grids, as these grow with the tokens. Which rank is last may differ from layer to layer, or never.
With equal grids a rank is slow at the same work: straggler. Experts whose kernels all have one
fixed grid do not show their tokens, and count as the same work. Even shares take the mean of the
ranks' times, so all of the wait goes.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import longest_collectives, rank_waits, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "expert-imbalance",
    "multi-GPU",
    "GPUs wait in all-to-alls, because one has more tokens for its experts.",
    fix=(
        "place experts so that each GPU gets as many tokens (hot ones apart, or in copies)",
        "balance the router: an auxiliary loss, a bias per expert, a capacity",
        "exchange smaller parts, and compute beside the next exchange",
    ),
    broader="exposed-communication",
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time waited in all-to-alls for ranks that had more work."""
    uneven, collectives = view.ranks.uneven, view.ranks.collectives
    if uneven is None or collectives is None:
        return
    if len(uneven.numbers) < thresholds.REPEATED:
        return
    waited = rank_waits.exposed_ns(view.tracks, collectives, uneven.numbers)
    share = view.fraction(waited)
    evidence = (
        view.percent("time waited behind uneven work", share, thresholds.MATTERS),
        view.number("all-to-alls after uneven work", len(uneven.numbers), "", thresholds.REPEATED),
        view.number("all-to-alls", uneven.exchanges),
        view.percent("of the uneven, the same rank is last in", uneven.last_share),
        *longest_collectives.longest(
            view, longest_collectives.WAITED, pl.col("number").is_in(uneven.numbers)
        ),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.85)
