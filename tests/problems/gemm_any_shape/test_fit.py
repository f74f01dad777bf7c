"""Fitting finds the constants and the habits of kernels behind times that were made from both."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SHAPES = [(16, 4096, 4096), (512, 512, 4096), (1024, 1024, 1024), (2000, 3000, 1000), (300, 7, 999)]


@pytest.fixture
def fit(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("fit")


def rows(
    module: Callable[[str], ModuleType], by: Any, shapes: list[tuple[int, int, int]], habit: float
) -> list[dict[str, Any]]:
    """Return what measure_shapes.py would have written if the GPU took what the model says.

    ``habit``: the deviation of the factor by which each kernel is slower or faster than that.
    """
    plans, model, way = module("plans"), module("model"), module("nearest").way
    demand, source = module("demand").demand, random.Random(0)
    habits: dict[str, float] = {}
    written = []
    for index, shape in enumerate(shapes):
        problem = plans.Problem(shape, ("nn", "nt", "tn", "tt")[index % 4])
        times = {}
        for plan in plans.plans(problem):
            own = habits.setdefault(way(plan), source.gauss(0, habit))
            noise = source.gauss(0, 0.005) if habit else 0.0
            times[plan.name] = model.us(demand(plan, problem), by) * math.exp(own + noise)
        best = min(times, key=lambda name: times[name])
        written.append(
            {
                "problem": "x".join(map(str, shape)) + ":" + problem.layout,
                "screen": times | {"torch": 1.0},
                "finals": {"torch": [1.0, 1.0], best: [times[best]] * 3},
            }
        )
    return written


def test_the_fit_finds_the_constants(fit: ModuleType, module: Callable[[str], ModuleType]) -> None:
    start = module("model").Constants()
    truth = replace(start, tensor=1.4, realign=9.0, l2=30.0, dram=3.5e6)
    shapes = [*SHAPES, (4096, 4096, 4096), (4097, 4104, 4104), (16, 4097, 4099), (64, 50304, 768)]
    measured = fit.samples(rows(module, truth, shapes, 0.0))
    assert len(measured) == len(shapes)
    found = fit.fitted(measured, start)
    for name in ("tensor", "realign", "l2"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=0.15), name
    none = fit.Nearest({})
    assert max(fit.regrets(found, none, measured)) < 0.03
    assert fit.regrets(truth, none, measured) == [0.0] * len(shapes)


def test_neighbours_teach_a_kernels_habit_to_shapes_that_were_left_out(
    fit: ModuleType, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "fitted", lambda _, begin: begin)  # the constants are the truth
    truth = module("model").Constants()
    shapes = module("shape_sets").tuning()[:30]
    measured = fit.samples(rows(module, truth, shapes, 0.1))
    alone, near, _ = fit.cross_validated(measured, truth)
    assert len(alone) == len(near) == len(shapes)
    assert sum(near) < 0.4 * sum(alone)


def test_a_shape_is_left_out_in_all_its_layouts(
    fit: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    problem = module("plans").Problem
    measured = [fit.Sample(problem(s, at), [], [], []) for s in SHAPES for at in ("nn", "tt")]
    judged = []
    for kept, out in fit.folds(measured):
        assert not {s.problem.shape for s in kept} & {s.problem.shape for s in out}
        judged += out
    assert len(judged) == len(measured)


def test_regret_is_the_choice_over_the_best(
    fit: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    problem = module("plans").Problem((16, 4096, 4096))
    by, none, demand = module("model").Constants(), fit.Nearest({}), module("demand").demand
    order = sorted(
        module("plans").plans(problem), key=lambda p: module("model").us(demand(p, problem), by)
    )
    pair = [order[0], next(plan for plan in order if plan.config != order[0].config)]
    sample = fit.Sample(problem, pair, [demand(plan, problem) for plan in pair], [15.0, 10.0])
    assert fit.regrets(by, none, [sample]) == [0.5]
    known = fit.collected([(problem, pair[0], 0.4), (problem, pair[1], -0.4)], 1, 0.1)
    assert fit.regrets(by, known, [sample]) == [0.0]


def test_what_is_saved_is_read(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearest, plans = module("nearest"), module("plans")
    monkeypatch.setattr(nearest, "MEASURED", tmp_path / "nearest.json")
    near, far = plans.Problem((16, 4096, 4096)), plans.Problem((4096, 16, 64))
    plan = plans.plans(near)[0]
    made = nearest.collected([(near, plan, 0.5), (far, plan, -0.5)], 1, 1)
    nearest.save(made)
    nearest.nearest.cache_clear()
    read = nearest.nearest()
    nearest.nearest.cache_clear()
    assert json.loads((tmp_path / "nearest.json").read_text())["points"]
    assert read.factor(plan, near) == pytest.approx(made.factor(plan, near))
    assert read.factor(plan, near) > 1 > read.factor(plan, far)
    assert nearest.Nearest({}).factor(plan, near) == 1.0
    other = next(each for each in plans.plans(near) if nearest.way(each) != nearest.way(plan))
    assert made.factor(other, near) > 1  # a kernel that was never timed


def test_cuts_of_k_are_apart(module: Callable[[str], ModuleType]) -> None:
    """What the model missed of a tile in four parts says little of the same tile whole."""
    nearest, plans = module("nearest"), module("plans")
    problem = plans.Problem((256, 256, 8192), "nt")
    found = {nearest.parts(plan) for plan in plans.plans(problem)}
    assert {1.0, 8.0} < found
    whole, cut = (
        next(plan for plan in plans.plans(problem) if nearest.parts(plan) == many)
        for many in (1.0, 8.0)
    )
    assert nearest.point(problem, whole)[:-1] == nearest.point(problem, cut)[:-1]
    assert nearest.point(problem, cut)[-1] == 3.0


def test_least_squares_solves_a_curve_that_is_not_a_line(
    module: Callable[[str], ModuleType],
) -> None:
    least = module("least_squares")
    points = [0.1 * index for index in range(30)]

    def residuals(at: list[float]) -> list[float]:
        return [at[0] * math.exp(-at[1] * x) - 3 * math.exp(-0.7 * x) for x in points]

    assert least.minimised(residuals, [1.0, 0.1]) == pytest.approx([3.0, 0.7], rel=1e-3)
    assert least.solved([[0.0, 2.0], [4.0, 1.0]], [2.0, 9.0]) == pytest.approx([2.0, 1.0])
