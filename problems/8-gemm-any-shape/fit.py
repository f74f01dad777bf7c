"""Fit the model to measured times: ``python fit.py time.jsonl``, with ``env/fit.lock`` installed.

It writes ``constants.json`` and ``trees.json.xz``, which the dispatcher reads, ``tuning.jsonl.xz``,
the times that both were fitted to and that it takes as well, and prints, and keeps in
``validation.json``, what choosing costs on shapes that were left out of the fit (cross-validation),
which is what a user's shape is. Shapes of the reported set are left out: they are for judging.
"""

import argparse
import json
import math
import operator
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import model
import trees
from features import features
from model import Constants, us
from plans import describe
from timings import Place, Sample, Times, keep, read, regrets_of_sweeps, samples, times
from trees import Forest, Tree

HERE = Path(__file__).parent
VALIDATION = HERE / "validation.json"
FOLDS = 5
COMMON = 0.3
"""Weight of an error that all plans of a problem share, which changes no choice."""
TRUST = 0.02
"""Weight of a constant's distance from where the fit began, in factors of e."""
ENOUGH = 1e-4
"""A relative gain below which the search for constants ends."""
FIXED = ("mhz", "drawn")
"""Constants that the times of one clock do not tell: they hold a scale of all cycles, no power."""
FITTED = tuple(field.name for field in fields(Constants) if field.name not in FIXED)
ALONE = 0.5
"""The share of ``drawn`` that counts. A product that runs alone has a clock of its own, as after a
rest; one among others has the clock that all of them leave. A model's products are between."""
ROUNDS = 400
GROWING = {
    "learning_rate": 0.06,
    "num_leaves": 511,
    "min_data_in_leaf": 8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.3,
    "seed": 0,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}
"""LightGBM's trees and parameters: of those tried, the least regret by cross-validation."""
DIGITS = 7
"""Significant digits of a threshold, more than those of any feature it has to tell apart."""
MOST_REGRET = 0.08
"""A regret above which a choice is counted as a bad one."""


def drawn(rested: Sequence[Sample], in_turn: dict[Place, Times]) -> float:
    """Return what a loaded byte costs a plan at its own clock, see ``Constants.drawn``.

    By least squares over plans timed after rests, each at its own clock, and in turn, by the times
    given, all at one. 0 without such plans.
    """
    loads, ratios = [], []
    for sample in rested:
        known = in_turn.get((describe(sample.problem), sample.demands[0].dram, 0.0), {})
        weight = model.capped(sample.problem)
        both = [
            (weight * of.loaded, math.log(timed / known[plan.name]))
            for plan, of, timed in zip(sample.plans, sample.demands, sample.times, strict=True)
            if plan.name in known
        ]
        for values, column in zip((loads, ratios), zip(*both, strict=True), strict=False):
            mean = fmean(column)
            values += [value - mean for value in column]
    squares = sum(load * load for load in loads)
    return sum(map(operator.mul, loads, ratios)) / squares if squares else 0.0


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
    from scipy.optimize import least_squares

    roots = [[math.sqrt(weight) for weight in sample.weights] for sample in measured]

    def constants(logarithms: Sequence[float]) -> Constants:
        values = {name: math.exp(value) for name, value in zip(FITTED, logarithms, strict=True)}
        return replace(begin, **values)

    def residuals(logarithms: Sequence[float]) -> list[float]:
        by, found = constants(logarithms), []
        for sample, root in zip(measured, roots, strict=True):
            beside, mean = errors(by, sample)
            found += [r * error for r, error in zip(root, beside, strict=True)]
            found.append(COMMON * mean)
        trust = TRUST * math.sqrt(len(measured))
        return found + [trust * (a - b) for a, b in zip(logarithms, first, strict=True)]

    first = [math.log(getattr(begin, name)) for name in FITTED]
    return constants(least_squares(residuals, first, ftol=ENOUGH).x.tolist())


def seen(by: Constants, sample: Sample) -> list[list[float]]:
    """Return the features of a problem's plans."""
    return [
        features(plan, sample.problem, of, us(of, by))
        for plan, of in zip(sample.plans, sample.demands, strict=True)
    ]


def grown(by: Constants, measured: Sequence[Sample]) -> Forest:
    """Return trees that predict the logarithm by which the constants miss a tried plan's time.

    That holds what all plans of a problem share: the trees find it in the sizes.
    """
    import lightgbm
    import numpy

    rows, missed, weights = [], [], []
    for sample in measured:
        tried, best = sample.tried(by), min(sample.times)
        rows += seen(by, tried)
        for of, time in zip(tried.demands, tried.times, strict=True):
            missed.append(math.log(time / us(of, by)))
            weights.append((best / time) ** 4)
    data = lightgbm.Dataset(numpy.array(rows), missed, weight=weights)
    dump = lightgbm.train(GROWING, data, ROUNDS).dump_model()
    kernels = {plan.kernel for sample in measured for plan in sample.plans}
    grown_trees = [_tree(each["tree_structure"]) for each in dump["tree_info"]]
    return Forest(grown_trees, frozenset(kernels))


def _tree(structure: dict[str, Any]) -> Tree:
    """Return a tree of LightGBM's dump."""
    tree = Tree([], [], [], [], [])

    def place(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            tree.values.append(round(node["leaf_value"], 6))
            return -len(tree.values)
        index = len(tree.feature)
        tree.feature.append(node["split_feature"])
        tree.threshold.append(float(f"{node['threshold']:.{DIGITS}g}"))
        tree.left.append(0)
        tree.right.append(0)
        tree.left[index], tree.right[index] = place(node["left_child"]), place(node["right_child"])
        return index

    place(structure)
    return tree


def regrets(by: Constants, forest: Forest, measured: Sequence[Sample]) -> list[float]:
    """Return for each problem how much slower the predicted best is than the measured best."""
    values = []
    for sample in measured:
        order = model.ordered(sample.problem, sample.plans, sample.demands, by, forest)
        values.append(sample.times[order[0]] / min(sample.times) - 1)
    return values


def folds(measured: Sequence[Sample]) -> Iterator[tuple[list[Sample], list[Sample]]]:
    """Yield the fitted and the judged samples; a shape is judged in all its layouts at once."""
    shapes = sorted({sample.problem.shape for sample in measured})
    for fold in range(min(FOLDS, len(shapes))):
        out = set(shapes[fold::FOLDS])
        kept = [sample for sample in measured if sample.problem.shape not in out]
        yield kept, [sample for sample in measured if sample.problem.shape in out]


def cross_validated(
    measured: Sequence[Sample], begin: Constants
) -> tuple[list[float], list[float]]:
    """Return regrets of shapes left out of the fit, by the constants alone and with trees."""
    with ProcessPoolExecutor() as pool:
        each = list(pool.map(partial(_left_out, begin), *zip(*folds(measured), strict=True)))
    alone, corrected = zip(*each, strict=True)
    return list(chain(*alone)), list(chain(*corrected))


def _left_out(
    begin: Constants, kept: Sequence[Sample], out: Sequence[Sample]
) -> tuple[list[float], list[float]]:
    """Return the regrets of one fold."""
    by = fitted([sample.fastest for sample in kept], begin)
    return regrets(by, Forest(), out), regrets(by, grown(by, kept), out)


def validation(
    measured: Sequence[Sample],
    alone: Sequence[float],
    corrected: Sequence[float],
    swept: Sequence[float],
    own: Sequence[Sequence[float]],
) -> dict[str, float]:
    """Return the facts of the tuning set that the report states; regrets and shares in %.

    ``alone``, ``corrected``: regrets of shapes left out of the fit, without trees and with them.
    ``swept``: of ``regrets_of_sweeps``; ``own``: of tuned products at their own clocks, without the
    weight of power and with it. Both are stated if there are any.
    """
    found = {
        "left_out_shapes": len({sample.problem.shape for sample in measured}),
        "left_out_regret": 100 * sum(corrected) / len(corrected),
        "left_out_worst": 100 * max(corrected),
        "left_out_regret_constants": 100 * sum(alone) / len(alone),
    }
    if swept:
        found["swept_problems"] = len(swept)
        found["swept_regret"] = 100 * sum(swept) / len(swept)
        found["swept_above"] = 100 * sum(value > MOST_REGRET for value in swept) / len(swept)
    if all(own):
        found["rested_problems"] = len(own[0])
        found["rested_unweighed"], found["rested_regret"] = (100 * fmean(each) for each in own)
    return found


def told(values: Sequence[float]) -> str:
    """Return regrets in a few words."""
    if not values:
        return "none"
    mean, over = sum(values) / len(values), sum(value > MOST_REGRET for value in values)
    return f"mean {mean:.4f}, worst {max(values):.3f}, above {MOST_REGRET}: {over} of {len(values)}"


def main() -> int:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", type=Path, help="time.jsonl of measure_shapes.py")
    parser.add_argument("--dry", action="store_true", help="print and write nothing")
    options = parser.parse_args()
    for path in options.rows:
        if not path.is_file():
            parser.error(f"no file {path}; measure_shapes.py --alone writes time.jsonl")
    rows = [row for path in options.rows for row in read(path)]
    known = times(rows)
    in_turn = {place: timed for place, timed in known.items() if not place[-1]}
    measured = samples(in_turn)
    rested = samples({place: timed for place, timed in known.items() if place[-1]})
    if not measured:
        parser.error("no times there")
    swept = regrets_of_sweeps(rows)
    print("by another sweep:          ", told(swept))
    begin = Constants(drawn=ALONE * drawn(rested, in_turn))
    by = fitted([sample.fastest for sample in measured], begin)
    forest = grown(by, measured)
    alone, corrected = cross_validated(measured, begin)
    print("left out, constants:       ", told(alone))
    print("left out, trees beside:    ", told(corrected))
    own = [regrets(replace(by, drawn=weight), forest, rested) for weight in (0.0, by.drawn)]
    for name, values in zip(("without", "with"), own, strict=True):
        print(f"at own clocks, {name:8} power:", told(values))
    for name, value in asdict(by).items():
        print(f"  {name:12} {value:12.4g}  from {getattr(begin, name):.4g}")
    if not options.dry:
        model.save(by)
        trees.save(forest)
        keep(rows, measured)
        text = json.dumps(validation(measured, alone, corrected, swept, own), indent=1)
        VALIDATION.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
