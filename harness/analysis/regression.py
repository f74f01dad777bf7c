"""What got worse since a report: each metric that both sides measured, by the rule of verdicts.

The two sides did not run beside each other, so rounds are not paired: docs/statistics.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from harness.analysis import claims, reliability, statistics
from harness.analysis.claims import ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.statistics import Interval, Rounds
from harness.analysis.verdict import LEAST_PROCESSES, Ends, place, widened
from harness.evidence.subject import Folder
from harness.evidence.tables import Tables
from harness.ground.errors import UsageError
from harness.problem.model import Metric, Problem

Outcome = Literal["worse", "better", "not told apart"]
OUTCOMES: tuple[Outcome, ...] = ("worse", "better", "not told apart")
COUNTED = "counted"
"""Why an outcome needs no interval."""


@dataclass(frozen=True)
class MeasuredSubject:
    """The evidence of one run or report; ``gpus``: the GPU that each of its cells ran on."""

    metrics: Metrics
    tables: Tables
    gpus: Mapping[str, str | None]


@dataclass(frozen=True)
class Change:
    """One metric of a variant and case that both sides measured.

    ``factor`` is now over then, ``low`` and ``high`` the ends of its 99 % interval, all None where
    no ratio can be taken. ``why``: what the outcome rests on, or why none could be decided.
    """

    metric: str
    variant: str
    case: str
    then: Measured
    now: Measured
    outcome: Outcome
    why: str = ""
    factor: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Since:
    """What changed since an earlier run or report: metrics, and claims that are newly refuted.

    ``refuted`` has each of these claims as it is now and as it was then.
    """

    changes: list[Change]
    refuted: list[tuple[ClaimResult, ClaimResult]]

    @property
    def worse(self) -> list[Change]:
        """Return the metrics that got worse."""
        return [change for change in self.changes if change.outcome == "worse"]


def since(problem: Problem, now: Folder, then: Folder) -> Since:
    """Return what changed from one run or report to another.

    Raises UsageError unless both are of this problem and of one model of GPU.
    """
    for what, here, there in (
        ("problem", now.origin.run.problem, then.origin.run.problem),
        ("target", now.origin.run.target.name, then.origin.run.target.name),
    ):
        if here != there:
            remedy = "compare runs of one problem on one model of GPU"
            raise UsageError(f"its {what} is {there}, not {here}", where=then.label, remedy=remedy)
    sides = [
        MeasuredSubject(Metrics(problem, tables, origin.gpus), tables, origin.gpus)
        for tables, origin in ((now.tables, now.origin), (then.tables, then.origin))
    ]
    judged = [
        claims.of_run(problem, side.metrics, each.origin.run)
        for side, each in zip(sides, (now, then), strict=True)
    ]
    before = {result.claim.id: result for result in judged[1]}
    refuted = [(result, before[result.claim.id]) for result in newly_refuted(*judged)]
    return Since(changes(problem, *sides), refuted)


def changes(problem: Problem, now: MeasuredSubject, then: MeasuredSubject) -> list[Change]:
    """Return every metric that both sides measured, in the manifest's order."""
    return [
        _change(name, problem.metric(name), (variant, case), now, then)
        for base, metric in problem.metrics.items()
        for case in problem.cases
        for name in _by_region(base, metric, sorted(now.metrics.regions(case)))
        for variant in problem.variants
        if now.metrics.samples(name, variant, case) and then.metrics.samples(name, variant, case)
    ]


def newly_refuted(now: Sequence[ClaimResult], then: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return the claims that were reproduced then and are refuted now."""
    held = {result.claim.id for result in then if result.verdict == "reproduced"}
    return [result for result in now if result.verdict == "refuted" and result.claim.id in held]


def _by_region(name: str, metric: Metric, regions: Sequence[str]) -> list[str]:
    """Return a metric's names: one a region, where its samples were taken in several."""
    apart = metric.sample and not metric.region and len(regions) > 1
    return [f"{name}@{region}" for region in regions] if apart else [name]


def _change(
    name: str, metric: Metric, cell: tuple[str, str], now: MeasuredSubject, then: MeasuredSubject
) -> Change:
    values = now.metrics.get(name, *cell), then.metrics.get(name, *cell)
    rounds = now.metrics.samples(name, *cell), then.metrics.samples(name, *cell)
    head = (name, *cell, values[1], values[0])
    least = min(value for side in rounds for samples in side.values() for value in samples)
    if least <= 0:
        return Change(*head, *_of_values(metric, rounds))
    if _is_counted(metric, rounds):
        ratio = (values[0].value or 0.0) / (values[1].value or math.inf)
        outcome = _outcome(metric, (ratio, ratio))
        return Change(*head, outcome, COUNTED, ratio, ratio, ratio)
    interval = statistics.unpaired_ratio(*rounds)
    outcome, why = _judged(metric, interval, rounds, values, (now, then))
    return Change(*head, outcome, why, interval.value, interval.low, interval.high)


def _judged(
    metric: Metric,
    ratio: Interval,
    rounds: tuple[Rounds, Rounds],
    values: tuple[Measured, Measured],
    sides: tuple[MeasuredSubject, MeasuredSubject],
) -> tuple[Outcome, str]:
    """Return the outcome of a ratio of sampled values, and the reason if it decides nothing."""
    if min(map(len, rounds)) < LEAST_PROCESSES:
        return "not told apart", f"fewer than {LEAST_PROCESSES} processes of a side"
    apart, factor = _gpus_apart(metric, values, sides)
    factor *= values[0].clock_factor * values[1].clock_factor
    doubts = "; ".join(filter(None, [values[0].doubt, values[1].doubt, apart]))
    if math.isinf(factor):
        return "not told apart", doubts
    return _outcome(metric, widened((ratio.low, ratio.high), factor)), doubts


def _outcome(metric: Metric, interval: Ends) -> Outcome:
    """Return on which side of 1 a ratio lies, as better or worse."""
    below: Outcome = "better" if metric.better == "lower" else "worse"
    above: Outcome = "worse" if metric.better == "lower" else "better"
    if place(interval, (-math.inf, 1)) == "inside":
        return below
    return above if place(interval, (1, math.inf)) == "inside" else "not told apart"


def _of_values(metric: Metric, rounds: tuple[Rounds, Rounds]) -> tuple[Outcome, str]:
    """Return the outcome of values of which one is not positive, so that they have no ratio."""
    now, then = ({value for values in side.values() for value in values} for side in rounds)
    if not (_is_counted(metric, rounds) and len(now) == len(then) == 1) or now == then:
        return "not told apart", "no ratio: a value is zero or negative"
    more = max(now) > max(then)
    return "worse" if more == (metric.better == "lower") else "better", COUNTED


def _is_counted(metric: Metric, rounds: tuple[Rounds, Rounds]) -> bool:
    """Return whether a value was counted or stated, alike in every process."""
    if metric.counter or metric.timed:
        return False
    return all(len({value for values in side.values() for value in values}) == 1 for side in rounds)


def _gpus_apart(
    metric: Metric,
    values: tuple[Measured, Measured],
    sides: tuple[MeasuredSubject, MeasuredSubject],
) -> tuple[str, float]:
    """Return the doubt that comes from sides that ran on different GPUs, and its factor."""
    if metric.paired:
        return "", 1.0
    now, then = (
        {side.gpus.get(cell) for cell in value.cells}
        for value, side in zip(values, sides, strict=True)
    )
    ceilings = pl.concat([side.tables["ceilings"] for side in sides])
    pairs = {(a, b) for a in now for b in then}
    least_us = reliability.least_us((metric.unit, value.spread or ()) for value in values)
    return reliability.apart(pairs, ceilings, [metric.sample], least_us)
