"""Fit the model's constants to measured times: ``python fit.py results/time.jsonl``.

It writes ``constants.json``, which the dispatcher reads, and prints how far predictions are off and
what choosing by them costs. Fit to the tuning set; the reported set is for judging.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from statistics import median
from typing import Any

from measuring import understood
from model import Constants, constants, save, us
from plans import Plan, Problem, plans

FACTORS = (1.5, 1.2, 1.07, 1.02)
"""By what a constant is tried larger and smaller, from coarse to fine."""
NEAR = 1.5
"""Plans slower than the fastest by more than this weigh a tenth: which of them is worse is idle."""
REGRET_WEIGHT = 3.0
FIXED = ("mhz",)
"""Constants that others stand in for: a clock is a scale of all cycles."""

Sample = tuple[Problem, list[tuple[Plan, float]]]
"""A problem and its plans, each with the measured time in µs."""


def samples(rows: Sequence[dict[str, Any]]) -> list[Sample]:
    """Return what was measured of each problem: the finals' medians, else the screen's."""
    found = []
    for row in rows:
        if "screen" not in row:
            continue
        problem = understood(row["problem"])
        times = row["screen"] | {name: median(each) for name, each in row["finals"].items()}
        measured = [(plan, times[plan.name]) for plan in plans(problem) if plan.name in times]
        if measured:
            found.append((problem, measured))
    return found


def regrets(by: Constants, measured: Sequence[Sample]) -> list[float]:
    """Return for each problem how much slower the predicted best is than the measured best."""
    values = []
    for problem, times in measured:
        chosen = min(times, key=lambda pair: us(pair[0], problem, by))
        values.append(chosen[1] / min(time for _, time in times) - 1)
    return values


def loss(by: Constants, measured: Sequence[Sample]) -> float:
    """Return the mean squared logarithm of prediction over measurement, and the weighted regret."""
    total, regret = 0.0, 0.0
    for problem, times in measured:
        best = min(time for _, time in times)
        predicted = [us(plan, problem, by) for plan, _ in times]
        weights = [1.0 if time < NEAR * best else 0.1 for _, time in times]
        errors = [math.log(p / time) ** 2 for p, (_, time) in zip(predicted, times, strict=True)]
        total += sum(w * e for w, e in zip(weights, errors, strict=True)) / sum(weights)
        regret += times[predicted.index(min(predicted))][1] / best - 1
    return (total + REGRET_WEIGHT * regret) / len(measured)


def fitted(measured: Sequence[Sample], begin: Constants) -> Constants:
    """Return constants of least loss by coordinate descent from ``begin``."""
    best, least = begin, loss(begin, measured)
    names = [field.name for field in fields(Constants) if field.name not in FIXED]
    for factor in FACTORS:
        improved = True
        while improved:
            improved = False
            for name in names:
                for by in (factor, 1 / factor):
                    tried = replace(best, **{name: getattr(best, name) * by})
                    if (value := loss(tried, measured)) < least - 1e-6:
                        best, least, improved = tried, value, True
    return best


def report(by: Constants, measured: Sequence[Sample]) -> str:
    """Return regret and error of the predictions in one line."""
    values = regrets(by, measured)
    off = [
        abs(math.log(us(plan, problem, by) / time))
        for problem, times in measured
        for plan, time in times
    ]
    mean = sum(values) / len(values)
    return (
        f"regret mean {mean:.3f}, worst {max(values):.3f}; predictions off by {median(off):.3f} in"
        f" the median ({len(measured)} problems, {len(off)} times)"
    )


def main() -> int:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", type=Path, help="time.jsonl of measure_shapes.py")
    parser.add_argument("--dry", action="store_true", help="print and write nothing")
    options = parser.parse_args()
    lines = [line for path in options.rows for line in path.read_text("utf-8").splitlines()]
    measured = samples([json.loads(line) for line in lines])
    if not measured:
        parser.error("no times there")
    print("before:", report(constants(), measured))
    best = fitted(measured, constants())
    print("after: ", report(best, measured))
    print(asdict(best))
    if not options.dry:
        save(best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
