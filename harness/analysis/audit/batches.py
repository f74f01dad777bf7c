"""The steps of a serving engine by what their annotations say: requests, tokens, time a token."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import annotations
from harness.analysis.annotations import Batch, Mode


@dataclass(frozen=True)
class Batches:
    """The steps of one mode: their number, mean length and batch.

    ``requests`` and ``tokens`` are the fewest and the most of a step. ``token_us`` is the time of
    all these steps over all their tokens, ``busy_us`` the part of it in which the GPU worked. All
    but requests are None where the engine does not say its tokens.
    """

    mode: Mode
    steps: int
    ms: float
    requests: tuple[int, int]
    tokens: tuple[int, int] | None
    token_us: float | None
    busy_us: float | None


def by_mode(ops: pl.DataFrame, lengths_ns: Sequence[int]) -> tuple[Batches, ...]:
    """Return the steps of each mode, the longest in total first; () without annotations.

    ``ops``: those of :func:`.attribution.attributed`; ``lengths_ns``: by step. A step is of the
    batch in which most of its time was launched.
    """
    times = ops.drop_nulls("batch").group_by("step", "batch").agg(pl.col("own_ns").sum())
    most = times.sort("own_ns", "batch", descending=True).unique("step", keep="first")
    said = annotations.batches(most["batch"])
    busy = dict(ops.group_by("step").agg(pl.col("own_ns").sum()).iter_rows())
    length = dict(zip(sorted(busy), lengths_ns, strict=True))
    steps: dict[Mode, list[tuple[Batch, int, float]]] = {}
    for step, name in most.select("step", "batch").sort("step").iter_rows():
        steps.setdefault(said[name].mode, []).append((said[name], length[step], busy[step]))
    rows = [_batches(mode, of_mode) for mode, of_mode in steps.items()]
    return tuple(sorted(rows, key=lambda each: -each.ms * each.steps))


def _batches(mode: Mode, steps: Sequence[tuple[Batch, int, float]]) -> Batches:
    batches, lengths, busy = zip(*steps, strict=True)
    requests = [batch.requests for batch in batches]
    tokens = [batch.tokens for batch in batches if batch.tokens]
    known = len(tokens) == len(steps)
    return Batches(
        mode,
        len(steps),
        statistics.fmean(lengths) / 1e6,
        (min(requests), max(requests)),
        (min(tokens), max(tokens)) if known else None,
        sum(lengths) / sum(tokens) / 1e3 if known else None,
        sum(busy) / sum(tokens) / 1e3 if known else None,
    )
