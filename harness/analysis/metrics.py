"""Named numbers, looked up in evidence: what a claim bounds and a worklog prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.analysis import reliability, statistics
from harness.errors import EvidenceError
from harness.evidence.tables import Tables
from harness.problem.model import Metric, Problem

if TYPE_CHECKING:
    import polars as pl

MEASURES: dict[str, tuple[str, ...]] = {
    "torch": ("kernels_per_step", "gpu_busy_per_step"),
    "nsys": ("kernels_per_step", "gpu_busy_per_step", "gpu_idle_share"),
    "ncu": ("dram_bytes", "kernel_time"),
    "memory": ("transient_bytes",),
}
"""What can be measured on a capture, for manifests to be checked without the tables' library."""


@dataclass(frozen=True)
class Measured:
    """A metric's value; ``value`` is None where it was not measured and ``why`` says so.

    ``low`` and ``high`` are a 95 % interval, equal to the value for what is counted, not sampled;
    ``sure`` are the ends of the 99 % interval, which a verdict asks for as well.
    ``doubt`` says why times it rests on are not to be relied on; empty if nothing was noticed.
    ``room`` is the factor by which that may have moved the value, either way.
    """

    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    samples: int = 0
    cells: tuple[str, ...] = ()
    why: str = ""
    doubt: str = ""
    room: float = 1.0
    sure: tuple[float, float] | None = None


class Metrics:
    """The metrics of one problem over one evidence.

    ``gpus``: the GPU that each cell ran on, by the provenance; without it, all ran on one.
    """

    def __init__(
        self, problem: Problem, tables: Tables, gpus: Mapping[str, str | None] | None = None
    ) -> None:
        self._problem = problem
        self._tables = tables
        self._gpus = gpus or {}
        self.get = cache(self._get)
        self.ratio = cache(self._ratio)

    def samples(self, metric: str, variant: str, case: str) -> dict[int, list[float]]:
        """Return what a metric's value comes from, by round; empty where it was not measured."""
        return self._rounds(self._definition(metric), variant, case)[0]

    def _get(self, metric: str, variant: str, case: str) -> Measured:
        """Return ``metric`` of a variant in a case."""
        definition = self._definition(metric)
        rounds, cells, why = self._rounds(definition, variant, case)
        if not rounds:
            return Measured(definition.unit, why=why)
        found = statistics.estimate(rounds)
        samples = sum(map(len, rounds.values()))
        return Measured(
            definition.unit,
            found.value,
            found.low,
            found.high,
            found.rounds,
            samples,
            cells,
            **self._doubts((metric, variant, case)),
            sure=found.sure,
        )

    def _ratio(self, of: tuple[str, str, str], over: tuple[str, str, str]) -> Measured:
        """Return the ratio of two (metric, variant, case)."""
        sides = []
        for metric, variant, case in (of, over):
            rounds, cells, why = self._rounds(self._definition(metric), variant, case)
            if not rounds:
                return Measured("×", why=f"{variant}: {why}")
            sides.append((rounds, cells))
        (first, first_cells), (second, second_cells) = sides
        try:
            found = statistics.ratio(first, second)
        except ValueError as error:
            return Measured("×", why=str(error))
        samples = min(sum(map(len, side.values())) for side in (first, second))
        return Measured(
            "×",
            found.value,
            found.low,
            found.high,
            found.rounds,
            samples,
            (*first_cells, *second_cells),
            **self._doubts(of, over, rounds=statistics.pairs(first, second)),
            sure=found.sure,
        )

    def _doubts(
        self, *sides: tuple[str, str, str], rounds: Sequence[tuple[int, int]] = ()
    ) -> dict[str, Any]:
        """Return ``doubt`` and ``room`` of a value, or of the ratio of two sides' ``rounds``."""
        told, rooms = [], [1.0]
        for metric, variant, case in sides:
            definition = self._definition(metric)
            if not definition.sample:
                continue  # counts and sizes do not depend on clocks
            cells = self._cells(definition.capture, variant, case)[1]
            why = reliability.doubt(cells, definition.region)
            if not why:
                continue
            room = reliability.clock_room(cells, self._highest(), definition.region)
            if definition.paired and room < math.inf:
                continue  # one clock was in both of what it compares
            told.append(f"{variant}: {why}")
            rooms.append(room)
        apart, factor = self._apart(sides, rounds)
        told += [apart] if apart else []
        return {"doubt": "; ".join(told), "room": max(rooms) * factor}

    def _apart(
        self, sides: Sequence[tuple[str, str, str]], rounds: Sequence[tuple[int, int]]
    ) -> tuple[str, float]:
        """Return what it makes doubtful, and by how much, that the sides ran on different GPUs."""
        timed = [self._definition(metric) for metric, _, _ in sides]
        if not rounds or not all(one.sample and not one.paired for one in timed):
            return "", 1.0  # a single value, or what one GPU counted or compared by itself
        first, second = (
            dict(self._cells(one.capture, variant, case)[1].select("round", "cell").iter_rows())
            for one, (_, variant, case) in zip(timed, sides, strict=True)
        )
        pairs = {(self._gpus.get(first[a]), self._gpus.get(second[b])) for a, b in rounds}
        return reliability.apart(pairs, self._tables["ceilings"], [one.sample for one in timed])

    def _highest(self) -> float | None:
        """Return the highest SM clock that any cell saw, in MHz."""
        return self._tables["cells"]["sm_mhz_max"].max()  # type: ignore[return-value]  # floats

    def regions(self, case: str) -> set[str]:
        """Return the regions in which the timing cells of a case measured."""
        import polars as pl

        timing = (pl.col("case") == case) & (pl.col("capture") == "timing")
        cells = self._tables["cells"].filter(timing)["cell"]
        samples = self._tables["samples"].filter(pl.col("cell").is_in(cells.implode()))
        return set(samples["region"].unique())

    def text(self, fact: str, variant: str, case: str) -> str | None:
        """Return what a variant's timing cell states in words; None if it does not."""
        import polars as pl

        tables = self.capture_of("timing", variant, case)
        if tables is None:
            return None
        found = tables["facts"].filter(pl.col("name") == fact)["text"].drop_nulls()
        return found[0] if len(found) else None

    def overhead(self, kind: str, variant: str, case: str) -> float | None:
        """Return how many times as long a step took under a capture as without; None if unknown."""
        from statistics import median

        latency = Metric.model_validate(
            {"label": "latency", "unit": "ms", "capture": "timing", "sample": "latency"}
        )
        profiled = latency.model_copy(update={"capture": kind})
        with_it, without = (
            [value for values in self._rounds(one, variant, case)[0].values() for value in values]
            for one in (profiled, latency)
        )
        return median(with_it) / median(without) if with_it and without else None

    def _definition(self, name: str) -> Metric:
        try:
            return self._problem.metric(name)
        except KeyError:
            raise EvidenceError(f"no metric {name!r}", where=self._problem.folder) from None

    def _rounds(
        self, metric: Metric, variant: str, case: str
    ) -> tuple[dict[int, list[float]], tuple[str, ...], str]:
        """Return the metric's values by round, the cells they are from and, if none, why."""
        every = self._cells(metric.capture, variant, case)
        rows, usable = (one.filter(_started(metric)) for one in every)
        by_round = usable.select("round", "cell").iter_rows()
        rounds = {number: self._values(metric, cell) for number, cell in by_round}
        rounds = {number: values for number, values in rounds.items() if values}
        if rounds:
            return rounds, tuple(usable["cell"]), ""
        if every[0].is_empty():
            return {}, (), "not run"
        if rows.is_empty():
            return {}, (), f"no {metric.start} start was run"
        if usable.is_empty():
            return {}, (), f"{rows['status'][0]}: {rows['reason'][0]}"
        return {}, (), "the capture does not hold it"

    def _values(self, metric: Metric, cell: str) -> list[float]:
        import polars as pl

        tables = self.of_cell(cell)
        if metric.sample:
            settled = pl.col("mark").fill_null("") != "warm-up"
            rows = tables["samples"].filter(pl.col("metric") == metric.sample, settled)
            if metric.region:
                rows = rows.filter(pl.col("region") == metric.region)
            values = rows.sort("index")["value"].to_list()
        elif metric.fact:
            ending = f".{metric.region}" if metric.region else ""
            values = self._fact(tables, f"{metric.fact}{ending}")
        else:
            from harness.analysis import derived

            if metric.counter:
                found = derived.counter(tables, metric.counter)
            else:
                found = derived.MEASURES[metric.capture][str(metric.measure)](tables)
            values = [] if found is None else [found]
        if metric.per:
            divisor = self._fact(tables, metric.per)
            values = [value / divisor[0] for value in values] if divisor and divisor[0] else []
        return values

    def capture_of(self, kind: str, variant: str, case: str) -> Tables | None:
        """Return the tables of the first usable cell of that capture, None if there is none."""
        _, usable = self._cells(kind, variant, case)
        return None if usable.is_empty() else self.of_cell(usable["cell"][0])

    def _cells(self, kind: str, variant: str, case: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the cells of a capture of a variant and case, and the usable ones by round."""
        import polars as pl

        rows = self._tables["cells"].filter(
            pl.col("variant") == variant, pl.col("case") == case, pl.col("capture") == kind
        )
        return rows, rows.filter(pl.col("status") == "ok").sort("round")

    def of_cell(self, cell: str) -> Tables:
        """Return the tables' rows of one cell."""
        import polars as pl

        return {
            name: table.filter(pl.col("cell") == cell).drop("cell")
            for name, table in self._tables.items()
        }

    @staticmethod
    def _fact(tables: dict[str, pl.DataFrame], name: str) -> list[float]:
        import polars as pl

        return tables["facts"].filter(pl.col("name") == name)["value"].drop_nulls().to_list()[:1]


def _started(metric: Metric) -> pl.Expr:
    """Return which cells count: all, the round that fills the caches, or the later ones."""
    import polars as pl

    if metric.start is None:
        return pl.lit(value=True)
    return pl.col("round") == 0 if metric.start == "first" else pl.col("round") > 0
