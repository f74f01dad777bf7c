"""Unprofiled times of two cells: B over A for each metric, by the rule of every verdict."""

import math
from dataclasses import dataclass
from typing import Literal

import polars as pl

from harness.analysis import statistics
from harness.analysis.statistics import Interval, Rounds
from harness.analysis.verdict import LEAST_PROCESSES, place
from harness.evidence.tables import Tables

Verdict = Literal["faster", "slower", "higher", "lower", "not told apart", "described"]
_TIMES = ("ms", "µs", "s")


@dataclass(frozen=True)
class Ratio:
    """B over A of one metric in one region, with what follows; ``a`` and ``b`` in ``unit``."""

    region: str
    metric: str
    unit: str
    a: float
    b: float
    ratio: Interval
    verdict: Verdict


def compare(a: Tables, b: Tables, *, paired: bool) -> list[Ratio]:
    """Return the metrics that both sides sampled; each ``cell`` of the tables is one round.

    ``paired``: rounds of the same number ran beside each other, so they share their luck.
    """
    sides = [_rounds(tables) for tables in (a, b)]
    ratios = []
    for key in [key for key in sides[0] if key in sides[1]]:
        of, over = sides[1][key], sides[0][key]
        if min(value for side in (of, over) for values in side.values() for value in values) <= 0:
            continue
        ratio = statistics.ratio(of, over) if paired else statistics.unpaired_ratio(of, over)
        values = statistics.estimate(over).value, statistics.estimate(of).value
        ratios.append(Ratio(*key, *values, ratio, _verdict(key[2], ratio)))
    return ratios


def _rounds(tables: Tables) -> dict[tuple[str, str, str], Rounds]:
    """Return region, metric and unit to samples by round, warm-up left out."""
    rounds = dict(tables["cells"].select("cell", "round").iter_rows())
    samples: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    settled = tables["samples"].filter(pl.col("mark").fill_null("") != "warm-up").sort("index")
    columns = ("cell", "region", "metric", "unit", "value")
    for cell, region, metric, unit, value in settled.select(columns).iter_rows():
        by_round = samples.setdefault((region, metric, unit), {})
        by_round.setdefault(rounds[cell], []).append(value)
    return dict(samples)


def _verdict(unit: str, ratio: Interval) -> Verdict:
    """Return on which side of 1 the ratio lies, if it lies on one; too few processes describe."""
    if ratio.rounds < LEAST_PROCESSES:
        return "described"
    if place((ratio.low, ratio.high), (-math.inf, 1)) == "inside":
        return "faster" if unit in _TIMES else "lower"
    if place((ratio.low, ratio.high), (1, math.inf)) == "inside":
        return "slower" if unit in _TIMES else "higher"
    return "not told apart"
