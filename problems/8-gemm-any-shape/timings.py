"""What was measured, to fit to: rows of measure_shapes.py, and samples of a problem's plans."""

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import model
from demand import Demand, demand
from model import Constants, us
from plans import Plan, Problem, describe, plans, understood
from shape_sets import reported
from summary import timed_us

KEPT = Path(__file__).parent / "tuning.jsonl.xz"
KEPT_DIGITS = 4
"""Significant digits of a time that is kept."""
FASTEST = 8
"""Plans of a problem, the fastest, whose times the constants are fitted to."""


@dataclass(frozen=True)
class Sample:
    """A problem and its plans: what each asks for, its measured time in µs, its weight.

    A plan half as fast as the best weighs a quarter: which of two slow plans is slower is idle.
    """

    problem: Problem
    plans: list[Plan]
    demands: list[Demand]
    times: list[float]

    @property
    def weights(self) -> list[float]:
        """Return the plans' weights, which add up to 1."""
        best = min(self.times)
        raw = [(best / time) ** 2 for time in self.times]
        return [weight / sum(raw) for weight in raw]

    @property
    def fastest(self) -> "Sample":
        """Return the sample with its fastest plans alone."""
        order = sorted(range(len(self.times)), key=lambda place: self.times[place])
        return self.at(order[:FASTEST])

    def tried(self, by: Constants) -> "Sample":
        """Return the sample with the plans alone that the dispatcher shows to the trees."""
        order = model.by_counts([us(of, by) for of in self.demands])
        return self.at(order[: model.TRIED])

    def at(self, places: Sequence[int]) -> "Sample":
        """Return the sample with the plans in these places alone."""
        columns = self.plans, self.demands, self.times
        kept = ([values[place] for place in places] for values in columns)
        return Sample(self.problem, *kept)


Place = tuple[str, float, float]
"""A problem, the peak bandwidth of the memory of the GPU on which it was timed, and the ms of rest
before each batch."""
Times = dict[str, float]
"""The µs of each contender."""


def placed(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[Place, Times]]:
    """Yield a row's place and times, without the shapes that are reported.

    Rounded as they are kept, so that the kept times fit the same.
    """
    judged = set(reported())
    for row in rows:
        if understood(row["problem"]).shape in judged:
            continue
        timed = row.get("times") or timed_us(row)
        rounded = {name: float(f"{each:.{KEPT_DIGITS}g}") for name, each in timed.items()}
        yield (row["problem"], row["dram"], row.get("rest_ms", 0.0)), rounded


def times(rows: Iterable[dict[str, Any]]) -> dict[Place, Times]:
    """Return each place's times.

    Where several rows are of a place, the mean of each contender's, all at the clock of the first:
    scaled by the median ratio of the times that both have.
    """
    found: dict[Place, dict[str, list[float]]] = {}
    for place, timed in placed(rows):
        known = found.setdefault(place, {})
        both = [fmean(known[name]) / timed[name] for name in known.keys() & timed.keys()]
        scale = median(both) if both else 1.0
        for name, each in timed.items():
            known.setdefault(name, []).append(scale * each)
    return {
        place: {name: fmean(each) for name, each in of.items()} for place, of in found.items() if of
    }


def regrets_of_sweeps(rows: Iterable[dict[str, Any]]) -> list[float]:
    """Return how much slower the fastest plan of a first row is than a second row's fastest.

    By the second row's times, of the plans of both. The rows are of one problem, measured twice,
    on one GPU or on two of one bandwidth: no choice can be better informed than by such a sweep.
    """
    first: dict[Place, Times] = {}
    values = []
    for place, timed in placed(rows):
        swept = first.setdefault(place, timed)
        both = [name for name in swept if name in timed]
        if swept is not timed and both:
            fastest = min(both, key=swept.__getitem__)
            values.append(timed[fastest] / min(timed[name] for name in both) - 1)
    return values


def samples(measured: dict[Place, Times]) -> list[Sample]:
    """Return the plans of each place that were measured."""
    found = []
    for (name, dram, _), timed in measured.items():
        problem = understood(name)
        known = [plan for plan in plans(problem) if plan.name in timed]
        if known:
            demands = [demand(plan, problem, dram) for plan in known]
            found.append(Sample(problem, known, demands, [timed[plan.name] for plan in known]))
    return found


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, which may be compressed; SystemExit where one has no ``dram``."""
    whole = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    rows = [json.loads(line) for line in whole.splitlines()]
    for number, row in enumerate(rows, 1):
        if "dram" not in row:
            raise SystemExit(f"{path}, line {number}: no dram, bytes per µs: measure anew")
    return rows


def keep(rows: Iterable[dict[str, Any]], measured: Sequence[Sample]) -> None:
    """Write what was fitted to: of each row the times of the samples' plans."""
    known = {
        (describe(sample.problem), sample.demands[0].dram): {plan.name for plan in sample.plans}
        for sample in measured
    }
    lines = []
    for (name, dram, rest_ms), timed in placed(rows):
        by_plan = {
            plan: timed[plan] for plan in sorted(known.get((name, dram), set()) & timed.keys())
        }
        if by_plan:
            row = {"problem": name, "dram": dram} | ({"rest_ms": rest_ms} if rest_ms else {})
            lines.append(json.dumps(row | {"times": by_plan}))
    KEPT.write_bytes(lzma.compress("\n".join(lines).encode()))
