"""Every kernel that a set's plans run is compiled before anything is timed."""

from collections.abc import Callable
from types import ModuleType


def test_all_that_plans_run_is_built_once(module: Callable[[str], ModuleType]) -> None:
    cubins, plans, sets = module("cubins"), module("plans"), module("shape_sets")
    built = cubins.steps(["nn", "tt"])
    known = {(step.name, step.pdl) for step in built}
    assert len(known) == len(built)
    rungs = 0
    for shape in (*sets.tuning()[::5], *sets.reported()[::5]):
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
