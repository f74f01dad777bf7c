"""Named numbers, looked up in evidence: what a claim bounds and a worklog prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cache
from statistics import median
from typing import NamedTuple

from harness.analysis import statistics
from harness.analysis.cell_tables import CellTables
from harness.analysis.derived import MEASURES
from harness.analysis.doubts import Doubts
from harness.analysis.measured import Measured
from harness.analysis.statistics import Interval
from harness.evidence.kinds import filling, unprofiled
from harness.evidence.tables import Tables
from harness.ground.errors import EvidenceError
from harness.problem.model import Metric, Place, Problem

ALL = "all"
"""The region that is the mean over all regions of a metric with members."""


class _MetricValues(NamedTuple):
    """A metric's values by round, and the cells they are from; ``why`` there are none."""

    by_round: dict[int, list[float]]
    cells: tuple[str, ...] = ()
    why: str = ""


def of_rounds(unit: str, rounds: Mapping[int, Sequence[float]], *, timed: bool = False) -> Measured:
    """Return the value that these samples have, by their round, with its interval."""
    samples = sum(map(len, rounds.values()))
    interval = statistics.estimate(rounds)
    return _measured(unit, interval, samples=samples, timed=timed, cells=(), doubt=("", 1.0))


class Metrics:
    """The metrics of one problem over one evidence; each is computed once.

    ``gpus``: the GPU that each cell ran on, by the provenance; without it, all ran on one.
    """

    def __init__(
        self, problem: Problem, tables: Tables, gpus: Mapping[str, str | None] | None = None
    ) -> None:
        self._problem = problem
        self._cells = CellTables(tables)
        self._gpus = gpus or {}
        self._doubts = Doubts(self._cells, self._gpus)
        self._values = cache(self._values_of)
        self.get = cache(self._get)
        self.ratio = cache(self._ratio)

    def samples(self, metric: str, variant: str, case: str) -> dict[int, list[float]]:
        """Return the values behind a metric by round; empty where it was not measured."""
        return self._values(metric, variant, case).by_round

    def _get(self, metric: str, variant: str, case: str) -> Measured:
        """Return ``metric`` of a variant in a case."""
        definition = self._definition(metric)
        values = self._values(metric, variant, case)
        if not values.by_round:
            return Measured(definition.unit, why=values.why)
        rows = _members(self._cells, definition, values.cells)
        several = len(rows) > 1
        return _measured(
            definition.unit,
            statistics.over_members(rows) if several else statistics.estimate(values.by_round),
            samples=sum(map(len, values.by_round.values())),
            timed=definition.timed,
            cells=values.cells,
            doubt=self._doubts.of([(definition, variant, case)]),
        )

    def _ratio(self, of: Place, over: Place) -> Measured:
        """Return the ratio of two (metric, variant, case)."""
        sides = [self._values(*place) for place in (of, over)]
        for (_, variant, _), side in zip((of, over), sides, strict=True):
            if not side.by_round:
                return Measured("×", why=f"{variant}: {side.why}")
        places = [(self._definition(name), variant, case) for name, variant, case in (of, over)]
        first, second = self._doubts.on_one_gpu(places, *(side.by_round for side in sides))
        try:
            interval = statistics.ratio(first, second)
        except ValueError as error:
            return Measured("×", why=str(error))
        shared = sides[0].by_round.keys() & sides[1].by_round.keys()
        why, factor = self._doubts.of(places, statistics.pairs(first, second))
        return _measured(
            "×",
            interval,
            samples=min(sum(map(len, side.values())) for side in (first, second)),
            timed=any(metric.timed for metric, _, _ in places),
            cells=(*sides[0].cells, *sides[1].cells),
            doubt=("; ".join(filter(None, [why, _left_out(shared - first.keys())])), factor),
        )

    def sides(self, of: Place, over: Place) -> tuple[Measured, Measured]:
        """Return both sides of a ratio, each over the rounds that the ratio has."""
        places = [(self._definition(name), variant, case) for name, variant, case in (of, over)]
        values = [self._values(*place).by_round for place in (of, over)]
        used = self._doubts.on_one_gpu(places, *values)
        shared = used[0].keys() & used[1].keys()
        if not shared or all(shared == every.keys() for every in values):
            return self.get(*of), self.get(*over)
        first, second = (
            of_rounds(metric.unit, {at: every[at] for at in shared}, timed=metric.timed)
            for (metric, _, _), every in zip(places, values, strict=True)
        )
        return first, second

    def started(self, capture: str, variant: str, case: str) -> list[float | None]:
        """Return when each of those cells began, in seconds since 1970; None if it is not known."""
        return self._cells.started(capture, variant, case)

    def regions(self, case: str) -> set[str]:
        """Return the regions in which the timing cells of a case measured."""
        return self._cells.regions(case)

    def text(self, fact: str, variant: str, case: str) -> str | None:
        """Return the text of a fact that a variant's timing cell stated, None if it did not."""
        cells = self._cells.repeats(unprofiled(), variant, case).cells
        return self._cells.text(cells[0][1], fact) if cells else None

    def overhead(self, kind: str, variant: str, case: str) -> float | None:
        """Return the time of a step under a capture over that without, None if unknown.

        A capture of a part of the step calls its region otherwise, and has no such ratio.
        """
        sides = [_latencies(self._cells, each, variant, case) for each in (kind, unprofiled())]
        return median(sides[0]) / median(sides[1]) if all(sides) else None

    def capture_of(self, kind: str, variant: str, case: str) -> Tables | None:
        """Return the tables of the first usable cell of that capture, None if there is none."""
        cells = self._cells.repeats(kind, variant, case).cells
        return self._cells.of(cells[0][1]) if cells else None

    def capture_with(self, table: str, variant: str, case: str) -> Tables | None:
        """Return the tables of the cheapest usable capture whose kind fills ``table``, or None."""
        captures = (self.capture_of(kind, variant, case) for kind in filling(table))
        return next((tables for tables in captures if tables is not None), None)

    def _definition(self, name: str) -> Metric:
        try:
            return self._problem.metric(name)
        except KeyError:
            raise EvidenceError(f"no metric {name!r}", where=self._problem.folder) from None

    def _values_of(self, name: str, variant: str, case: str) -> _MetricValues:
        return self._read(self._definition(name), variant, case)

    def _read(self, metric: Metric, variant: str, case: str) -> _MetricValues:
        """Return a metric's values from the cells of its capture."""
        repeats = self._cells.repeats(metric.capture, variant, case)
        cells = _counted(metric.start, repeats.cells, self._gpus)
        failed = [why for number, why in repeats.failed if _counts(metric.start, number)]
        by_round = {number: self._of_cell(metric, cell) for number, cell in cells}
        by_round = {number: values for number, values in by_round.items() if values}
        if by_round:
            return _MetricValues(by_round, tuple(cell for _, cell in cells))
        if not repeats.cells and not repeats.failed:
            return _MetricValues({}, why="not run")
        if not cells and not failed:
            return _MetricValues({}, why=f"no {metric.start} start was run")
        return _MetricValues({}, why="the capture does not hold it" if cells else failed[0])

    def _of_cell(self, metric: Metric, cell: str) -> list[float]:
        """Return a metric's values in one cell, divided by the fact it is ``per``, if it is."""
        if metric.sample:
            values = self._cells.samples(cell, metric.sample, metric.region or None)
        else:
            value = self._single(metric, cell)
            values = [] if value is None else [value]
        if not metric.per:
            return values
        divisor = self._cells.fact(cell, metric.per)
        return [value / divisor for value in values] if divisor else []

    def _single(self, metric: Metric, cell: str) -> float | None:
        """Return a metric that a cell has one value of: a fact, a counter or a measure."""
        if metric.fact:
            ending = f".{metric.region}" if metric.region else ""
            return self._cells.fact(cell, f"{metric.fact}{ending}")
        if metric.counter:
            return self._cells.counters(cell).get(metric.counter)
        return MEASURES[str(metric.measure)](self._cells.of(cell))


def _latencies(tables: CellTables, kind: str, variant: str, case: str) -> list[float]:
    """Return what steps took under a capture, in the regions that timing cells measure."""
    return [
        value
        for _, cell in tables.repeats(kind, variant, case).cells
        for region in tables.regions(case)
        for value in tables.samples(cell, "latency", region)
    ]


def _members(tables: CellTables, metric: Metric, cells: Sequence[str]) -> list[list[float]]:
    """Return a row for each region of a metric's group, a median a round; none of one region.

    Regions that a round lacks are left out.
    """
    if not (metric.members and metric.sample):
        return []
    groups = tables.stated(cells[0], metric.members)
    names = (name for name, group in groups.items() if metric.region in (group, ALL))
    rows = ([tables.samples(cell, metric.sample, name) for cell in cells] for name in names)
    return [[median(samples) for samples in row] for row in rows if all(row)]


def _measured(
    unit: str,
    interval: Interval,
    *,
    samples: int,
    timed: bool,
    cells: tuple[str, ...],
    doubt: tuple[str, float],
) -> Measured:
    why, factor = doubt
    return Measured(
        unit,
        interval.value,
        interval.low,
        interval.high,
        interval.rounds,
        samples,
        cells,
        doubt=why,
        clock_factor=factor,
        timed=timed,
        spread=interval.spread,
    )


def _left_out(rounds: Set[int]) -> str:
    """Return which rounds a ratio leaves out, "" if it has all."""
    if not rounds:
        return ""
    named = ", ".join(map(str, sorted(rounds)))
    if len(rounds) == 1:
        return f"round {named} left out: its sides ran on different GPUs"
    return f"rounds {named} left out: their sides ran on different GPUs"


def _counted(
    start: str | None, cells: Sequence[tuple[int, str]], gpus: Mapping[str, str | None]
) -> list[tuple[int, str]]:
    """Return the rounds and cells that count for a start; later ones found caches.

    A run that goes on elsewhere begins there with cold ones: no round before was on that GPU.
    """
    counted, seen = [], set()
    for number, cell in sorted(cells):
        gpu = gpus.get(cell)
        if _counts(start, number) and (start != "later" or gpu in seen):
            counted.append((number, cell))
        seen.add(gpu)
    return counted


def _counts(start: str | None, number: int) -> bool:
    """Return whether a round's number counts: all, the first (cold caches), or the later."""
    if start is None:
        return True
    return number == 0 if start == "first" else number > 0
