"""Every kernel that a set's plans run is compiled before anything is timed.

For a change a tenth of the shapes, another one each day; `make battery` has all.
"""

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support.battery import part


def test_all_that_plans_run_is_built_once(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    cubins, plans, sets = module("cubins"), module("plans"), module("shape_sets")
    tuning, reported = part(sets.tuning()), part(sets.reported())
    monkeypatch.setattr(cubins, "tuning", lambda: tuning)
    monkeypatch.setattr(cubins, "reported", lambda: reported)
    built = cubins.steps(["nn", "tt"])
    known = {(step.name, step.pdl) for step in built}
    assert len(known) == len(built)
    rungs = 0
    for shape in (*tuning[::2], *reported[::2]):
        for layout in ("nn", "tt"):
            problem = plans.Problem(shape, layout)
            for plan in plans.plans(problem):
                step = plan.step(problem)
                assert (step.name, True) in known
                if step is plan.config:  # problem 4's: without dependent launches another cubin
                    rungs += 1
                    assert (step.name, False) in known
                    assert step.defines()["PDL"] == 1
    assert rungs > 10
    assert {cubins.ALIGN_ROWS.name, cubins.ADD_PARTS.name} <= {step.name for step in built}
