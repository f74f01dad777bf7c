"""Fitting finds constants that explain times which the model itself made with others."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

SHAPES = [(16, 4096, 4096), (512, 512, 4096), (1024, 1024, 1024), (2000, 3000, 1000), (300, 7, 999)]


@pytest.fixture
def fit(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("fit")


def rows(module: Callable[[str], ModuleType], by: Any) -> list[dict[str, Any]]:
    """Return what measure_shapes.py would have written if the GPU took what the model says."""
    plans, model = module("plans"), module("model")
    written = []
    for shape in SHAPES:
        problem = plans.Problem(shape)
        times = {plan.name: model.us(plan, problem, by) for plan in plans.plans(problem)}
        best = min(times, key=lambda name: times[name])
        written.append(
            {
                "problem": "x".join(map(str, shape)) + ":nn",
                "screen": times | {"torch": 1.0},
                "finals": {"torch": [1.0, 1.0], best: [times[best]] * 3},
            }
        )
    return written


def test_the_fit_explains_the_times(fit: ModuleType, module: Callable[[str], ModuleType]) -> None:
    start = module("model").Constants()
    truth = replace(start, tile=3000.0, realign=1500.0, l2=30.0, start=9000.0)
    measured = fit.samples(rows(module, truth))
    assert len(measured) == len(SHAPES)
    found = fit.fitted(measured, start)
    assert fit.loss(found, measured) < 0.2 * fit.loss(start, measured)
    assert max(fit.regrets(found, measured)) < 0.05
    assert fit.regrets(truth, measured) == [0.0] * len(SHAPES)


def test_regret_is_the_choice_over_the_best(
    fit: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    problem = module("plans").Problem((16, 4096, 4096))
    by = module("model").Constants()
    first, second = module("model").ranked(problem)[:2]
    assert fit.regrets(by, [(problem, [(first, 15.0), (second, 10.0)])]) == [0.5]
