"""Problem 1's manifest: advice compares like with like, and the short path is short."""

from typing import Any

import pytest

from harness.problem.manifest import find
from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ROOT / "problems", "1")


def tuned_by_coordinate_descent(options: dict[str, Any]) -> bool:
    """As the scripts read the options: quantize_ turns it on, unless told otherwise."""
    by_torchao = options["quantise"] != "none" and options.get("tune", True)
    return bool(options["compile"] and (by_torchao or options.get("tune_coordinates")))


def test_a_cuda_graph_needs_a_gpu_and_compiled_code(problem: Problem) -> None:
    for name, variant in problem.variants.items():
        if variant.options.get("graph"):
            assert variant.needs == "cuda", name
            assert variant.options["compile"], name


def test_both_sides_of_an_advice_run_in_a_graph(problem: Problem) -> None:
    advices = [claim for claim in problem.claims if isinstance(claim, Advice)]
    assert advices
    for advice in advices:
        sides = (problem.variants[name].options for name in (advice.take, advice.instead_of))
        assert {options["graph"] for options in sides} == {"captured"}, advice.id


def test_at_batch_1_bf16_is_tuned_as_float8_is(problem: Problem) -> None:
    """Above it, bf16 has no kernel of Inductor's that could be tuned."""
    advices = [claim for claim in problem.claims if isinstance(claim, Advice)]
    at_batch_1 = [claim for claim in advices if "llama-3.1-8b" in claim.at]
    assert at_batch_1
    for claim in at_batch_1:
        for name in (claim.take, claim.instead_of):
            assert tuned_by_coordinate_descent(problem.variants[name].options), claim.id


@pytest.mark.parametrize(("device", "most"), [("cuda", 22), ("cpu", 4)])
def test_the_short_path_is_short(problem: Problem, device: Any, most: int) -> None:
    cells = plan(problem, Selected(short=True), device)
    assert 0 < len(cells) <= most
    assert not any(cell.case.startswith("llama") for cell in cells)
