"""Why a metric's times are doubtful, and the factor by which the reasons may have moved them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from harness.analysis import reliability
from harness.analysis.cell_tables import CellTables
from harness.analysis.statistics import Rounds
from harness.problem.model import Metric

Place = tuple[Metric, str, str]
"""A metric, a variant and a case."""


_LEAST_ROUNDS = 2  # for an interval over processes


class Doubts:
    """The doubts about the cells of one evidence.

    ``gpus``: the GPU that each cell ran on; a cell that it lacks ran on the same as the others.
    """

    def __init__(self, cells: CellTables, gpus: Mapping[str, str | None]) -> None:
        self._cells = cells
        self._gpus = gpus
        self._of_cells = cache(self._compute)

    def of(
        self, sides: Sequence[Place], rounds: Sequence[tuple[int, int]] = ()
    ) -> tuple[str, float]:
        """Return the doubt about a value, or about the ratio of two sides' ``rounds``; its factor.

        The factor is at least 1, and infinite where it is not known.
        """
        reasons, factors = [], [1.0]
        for metric, variant, case in sides:
            if not _depends_on_clocks(metric):
                continue
            why, factor = self._of_cells(metric.capture, variant, case, metric.region)
            unmoved = metric.paired or metric.gpu_state
            if not why or (unmoved and factor < math.inf):
                continue  # a paired metric compares times of one clock; a state is what it tells
            reasons.append(f"{variant}: {why}")
            factors.append(factor)
        why, factor = self._of_gpus(sides, rounds)
        reasons += [why] if why else []
        # Both sides of a ratio may be metrics of the same cells: their doubt is one.
        return "; ".join(dict.fromkeys(reasons)), max(factors) * factor

    def on_one_gpu(self, sides: Sequence[Place], of: Rounds, over: Rounds) -> tuple[Rounds, Rounds]:
        """Return two sides' samples in the rounds in which both ran on the same GPU.

        All rounds where only one or none is such: one process says little about the next. All
        rounds as well of what a GPU counted, or compared in one process: its speed cancels there.
        """
        if not _timed(sides):
            return of, over
        first, second = map(self._gpu_by_round, sides)
        shared = sorted(set(of) & set(over))
        alike = [number for number in shared if first.get(number) == second.get(number)]
        if len(alike) < _LEAST_ROUNDS:
            return of, over
        return {number: of[number] for number in alike}, {number: over[number] for number in alike}

    def _gpu_by_round(self, side: Place) -> dict[int, str | None]:
        """Return the GPU that each round of a metric's cells ran on."""
        metric, variant, case = side
        cells = self._cells.repeats(metric.capture, variant, case).cells
        return {number: self._gpus.get(cell) for number, cell in cells}

    def _compute(
        self, capture: str, variant: str, case: str, region: str | None
    ) -> tuple[str, float]:
        """Return the doubt about the cells of one variant and case, and the clock's factor."""
        cells = self._cells.repeats(capture, variant, case).usable
        why = reliability.doubt(cells, region)
        if not why:
            return "", 1.0
        return why, reliability.clock_factor(cells, self._cells.highest_clock, region)

    def _of_gpus(
        self, sides: Sequence[Place], rounds: Sequence[tuple[int, int]]
    ) -> tuple[str, float]:
        """Return the doubt that comes from sides that ran on different GPUs, and its factor."""
        if not rounds or not _timed(sides):
            return "", 1.0
        first, second = map(self._gpu_by_round, sides)
        pairs = {(first[a], second[b]) for a, b in rounds}
        samples = [metric.sample for metric, _, _ in sides]
        times = ((side[0].unit, self._samples(side)) for side in sides)
        ceilings = self._cells.whole["ceilings"]
        return reliability.apart(pairs, ceilings, samples, reliability.least_us(times))

    def _samples(self, side: Place) -> Iterator[float]:
        """Yield all samples of a metric, of every round."""
        metric, variant, case = side
        for _, cell in self._cells.repeats(metric.capture, variant, case).cells:
            yield from self._cells.samples(cell, metric.sample or "", metric.region)


def _timed(sides: Sequence[Place]) -> bool:
    """Return whether all sides are times of a GPU, not what it counted or compared by itself."""
    return all(_depends_on_clocks(metric) and not metric.paired for metric, _, _ in sides)


def _depends_on_clocks(metric: Metric) -> bool:
    """Return whether it is sampled, or a time of a load; counts and sizes depend on no clock."""
    return bool(metric.sample or (metric.measure and metric.timed))
