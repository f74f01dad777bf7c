"""The manifest agrees with the ladder, and its plan does nothing on a CPU that needs a GPU."""

from collections import Counter
from collections.abc import Callable
from types import ModuleType

import pytest

from harness.captures.ncu.keep import KEPT
from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.hgemm import FOLDER
from tests.support.manifests import bound_claims


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(FOLDER.parent, "4")


def test_each_step_is_a_variant_with_the_ladders_words(
    problem: Problem, module: Callable[[str], ModuleType]
) -> None:
    rungs = module("steps").RUNGS
    assert list(rungs) == [f"p{at}" for at in range(9)] + [f"h{at}" for at in range(11)]
    for short, step in rungs.items():
        assert problem.variants[short].label == f"{short}: {step.label}"
        assert problem.variants[short].options == {"contender": short}
    contenders = problem.cases["square-4096"].params["contenders"]
    assert contenders == ["torch", "cublaslt", *rungs, "best", "waiting"]
    for case in problem.cases.values():  # a gain is over the contender before: no step is left out
        timed = [name for name in case.params.get("contenders", []) if name in rungs]
        first = list(rungs).index(timed[0]) if timed else 0
        assert timed == list(rungs)[first : first + len(timed)]


def test_contenders_are_steps_or_known_by_name(
    problem: Problem, module: Callable[[str], ModuleType]
) -> None:
    known = {*module("steps").RUNGS, *module("steps").BASELINES, "best", module("contenders").FP32}
    for name, case in problem.cases.items():
        if case.params["workload"] == "square":
            assert set(case.params["contenders"]) <= known | {module("contenders").WAITING}, name
    cells = plan(problem, Selected(), "cuda")
    assert all(cell.variant != "waiting" for cell in cells)  # it is only timed in turn with others


def test_the_sizes_are_those_that_the_whole_is_judged_by(
    problem: Problem, module: Callable[[str], ModuleType]
) -> None:
    shapes = [tuple(shape) for shape in problem.cases["sizes"].params["shapes"]]
    assert Counter(shapes) == Counter(module("steps").suite())


def test_the_plan_on_a_gpu(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cuda")
    assert Counter(cell.capture for cell in cells) == {
        "timing": 7 * 5 + 3 * 3 + 2 + 2 * 4 * 5,
        "nsys": 4,
        "ncu": 21 + 4 + 2 + 2,
    }
    timed = [cell for cell in cells if cell.capture == "timing"]
    unpaired = ("stack-m16", "sanitized", "scaled-sanitized")
    assert all(cell.paired == (cell.case not in unpaired) for cell in timed)
    in_turn = [cell for cell in timed if cell.variant == "in-turn" and "sanitized" not in cell.case]
    for cell in in_turn:  # half a second is as long as 40 short batches
        assert cell.params["turns"] >= (15 if cell.params["batch_ms"] < 500 else 10)


def test_the_plan_on_a_cpu_is_the_operators_own_fallback(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cpu")
    assert {cell.case for cell in cells} == {"stack-m4096", "stack-m16"}
    assert {cell.variant for cell in cells} == {
        *("torch", "best", "torch-compiled", "best-compiled")
    }
    assert all(cell.params["width"] <= 256 and cell.params["m"] <= 64 for cell in cells)


def test_claims(problem: Problem) -> None:
    assert 15 <= len(problem.claims) <= 48
    anywhere = [claim.id for claim in problem.claims if claim.needs is None]
    assert anywhere == ["stack-right"]
    told = [claim.statement for claim in problem.claims]
    assert len(set(told)) == len(told)


def test_ratios_of_one_process_are_called_paired(problem: Problem) -> None:
    absolute = {"gpu_time", "wall_time"}
    for name, metric in problem.metrics.items():
        if metric.sample:
            assert metric.paired == (name not in absolute and metric.unit != "TFLOP/s"), name
    for claim in bound_claims(problem):
        metric = problem.metric(claim.metric)
        if claim.of.variant == "in-turn" and metric.sample:
            assert metric.paired, claim.id


def test_every_counter_is_asked_for_and_kept(problem: Problem) -> None:
    from fnmatch import fnmatchcase

    asked = "\n".join(problem.captures["ncu"].flags)
    sections = ("launch__", "smsp__issue_active", "sm__warps_active", "smsp__average_warps_issue")
    for name, metric in problem.metrics.items():
        if metric.counter is None:
            continue
        assert any(fnmatchcase(metric.counter, kept) for kept in KEPT), name
        assert metric.counter in asked or metric.counter.startswith(sections), name


def test_no_flag_of_the_profiler_holds_a_blank(problem: Problem) -> None:
    assert not any(" " in flag or "\n" in flag for flag in problem.captures["ncu"].flags)
