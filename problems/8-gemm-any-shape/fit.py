"""Fit the model to measured times: ``python fit.py tuning/time.jsonl``.

It writes ``constants.json`` and ``nearest.json``, which the dispatcher reads, and prints, and keeps
in ``validation.json``, what choosing by them costs: on the problems that were fitted, and on
problems whose shape was left out of the fit (cross-validation), which is what a user's shape is.
Fit to the tuning set; the reported set is for judging.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import model
import nearest
from demand import Demand, demand
from least_squares import minimised
from measuring import understood
from model import Constants, us
from nearest import Nearest, Residual, collected
from plans import Plan, Problem, plans

VALIDATION = Path(__file__).parent / "validation.json"
FOLDS = 5
COMMON = 0.3
"""Weight of an error that all plans of a problem share, which changes no choice."""
TRUST = 0.02
"""Weight of a constant's distance from where the fit began, in factors of e."""
REACHES, DOUBTS = (0.5, 1.0, 2.0), (0.3, 1.0, 3.0)
"""What is tried for ``Nearest``."""
FIXED = ("mhz",)
"""Constants that others stand in for: a clock is a scale of all cycles."""
FITTED = tuple(field.name for field in fields(Constants) if field.name not in FIXED)


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


def samples(rows: Sequence[dict[str, Any]]) -> list[Sample]:
    """Return what was measured of each problem: the finals' medians, else the screen's."""
    found = []
    for row in rows:
        if "screen" not in row:
            continue
        problem = understood(row["problem"])
        times = row["screen"] | {name: median(each) for name, each in row["finals"].items()}
        measured = [plan for plan in plans(problem) if plan.name in times]
        if measured:
            demands = [demand(plan, problem) for plan in measured]
            found.append(
                Sample(problem, measured, demands, [times[plan.name] for plan in measured])
            )
    return found


def errors(by: Constants, sample: Sample) -> tuple[list[float], float]:
    """Return the logarithms of measured over predicted, less their mean; and that mean."""
    each = [
        math.log(time / us(of, by)) for of, time in zip(sample.demands, sample.times, strict=True)
    ]
    mean = sum(w * e for w, e in zip(sample.weights, each, strict=True))
    return [error - mean for error in each], mean


def fitted(measured: Sequence[Sample], begin: Constants) -> Constants:
    """Return the constants of least squared errors, all positive, near ``begin``.

    What counts is the error beside the mean of a problem's plans: it alone changes a choice.
    """
    roots = [[math.sqrt(weight) for weight in sample.weights] for sample in measured]

    def constants(logarithms: Sequence[float]) -> Constants:
        values = {name: math.exp(value) for name, value in zip(FITTED, logarithms, strict=True)}
        return replace(begin, **values)

    def residuals(logarithms: Sequence[float]) -> list[float]:
        by, found = constants(logarithms), []
        for sample, root in zip(measured, roots, strict=True):
            apart, mean = errors(by, sample)
            found += [r * error for r, error in zip(root, apart, strict=True)]
            found.append(COMMON * mean)
        trust = TRUST * math.sqrt(len(measured))
        return found + [trust * (a - b) for a, b in zip(logarithms, first, strict=True)]

    first = [math.log(getattr(begin, name)) for name in FITTED]
    return constants(minimised(residuals, first))


def missed(by: Constants, measured: Sequence[Sample]) -> Iterator[Residual]:
    """Yield what the model missed of each plan."""
    for sample in measured:
        apart, _ = errors(by, sample)
        for plan, error in zip(sample.plans, apart, strict=True):
            yield sample.problem, plan, error


def regrets(by: Constants, near: Nearest, measured: Sequence[Sample]) -> list[float]:
    """Return for each problem how much slower the predicted best is than the measured best."""
    values = []
    for sample in measured:
        times = {
            plan.name: us(of, by) * near.factor(plan, sample.problem)
            for plan, of in zip(sample.plans, sample.demands, strict=True)
        }
        names = [plan.name for plan in sample.plans]
        chosen = sample.times[names.index(min(times, key=lambda name: times[name]))]
        values.append(chosen / min(sample.times) - 1)
    return values


def folds(measured: Sequence[Sample]) -> Iterator[tuple[list[Sample], list[Sample]]]:
    """Yield what is fitted and what is judged; a shape is judged in all its layouts at once."""
    shapes = sorted({sample.problem.shape for sample in measured})
    for fold in range(min(FOLDS, len(shapes))):
        out = set(shapes[fold::FOLDS])
        kept = [sample for sample in measured if sample.problem.shape not in out]
        yield kept, [sample for sample in measured if sample.problem.shape in out]


def cross_validated(
    measured: Sequence[Sample], begin: Constants
) -> tuple[list[float], list[float], tuple[float, float]]:
    """Return regrets of shapes left out, without and with neighbours, and the best of these.

    The last: the ``reach`` and ``doubt`` of least mean regret.
    """
    alone: list[float] = []
    tried: dict[tuple[float, float], list[float]] = {}
    for kept, out in folds(measured):
        by = fitted(kept, begin)
        residuals = list(missed(by, kept))
        alone += regrets(by, Nearest({}), out)
        for how in product(REACHES, DOUBTS):
            tried.setdefault(how, []).extend(regrets(by, collected(residuals, *how), out))
    best = min(tried, key=lambda how: sum(tried[how]))
    return alone, tried[best], best


def validation(
    measured: Sequence[Sample], alone: Sequence[float], near: Sequence[float]
) -> dict[str, float]:
    """Return what the report states of shapes that were left out of the fit; regrets in %."""
    return {
        "left_out_shapes": len({sample.problem.shape for sample in measured}),
        "left_out_regret": 100 * sum(near) / len(near),
        "left_out_worst": 100 * max(near),
        "left_out_regret_constants": 100 * sum(alone) / len(alone),
    }


def told(values: Sequence[float]) -> str:
    """Return regrets in a few words."""
    mean, over = sum(values) / len(values), sum(value > 0.08 for value in values)
    return f"mean {mean:.3f}, worst {max(values):.3f}, above 0.08: {over} of {len(values)}"


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
    begin = Constants()
    by = fitted(measured, begin)
    alone, with_neighbours, how = cross_validated(measured, begin)
    near = collected(missed(by, measured), *how)
    print("fitted, constants:    ", told(regrets(by, Nearest({}), measured)))
    print("left out, constants:  ", told(alone))
    print("left out, neighbours: ", told(with_neighbours), f"(reach {how[0]}, doubt {how[1]})")
    off = [abs(error) for _, _, error in missed(by, measured)]
    print(f"plans of a problem: off by {median(off):.3f} in the median, {len(off)} times")
    for name, value in asdict(by).items():
        print(f"  {name:12} {value:12.4g}  from {getattr(begin, name):.4g}")
    if not options.dry:
        model.save(by)
        nearest.save(near)
        text = json.dumps(validation(measured, alone, with_neighbours), indent=1)
        VALIDATION.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
