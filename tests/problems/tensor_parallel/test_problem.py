"""The manifest: a ladder of single changes, cells of two GPUs, and a model by its own formula."""

import itertools
from types import ModuleType

import pytest

from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan
from tests.support.tensor_parallel import FOLDER

LADDER = ("nccl", "nccl-graph", "overlap", "one-shot", "two-shot", "packed", "fused")
GOAL_KB = (8, 1024)


def test_each_variant_changes_one_thing(problem: Problem) -> None:
    options = [problem.variants[name].options for name in LADDER]
    for before, after in itertools.pairwise(options):
        assert sum(before[key] != after[key] for key in before) == 1


def test_every_cell_has_a_gpu_for_each_rank(problem: Problem) -> None:
    for cell in plan(problem, Selected(), "cuda"):
        assert cell.gpus == cell.params.get("ranks", 2)


def test_every_way_is_timed_in_turn_beside_none(problem: Problem) -> None:
    for case in ("in-turn-b1", "in-turn-b64"):
        contenders = problem.cases[case].params["contenders"]
        assert list(contenders) == ["alone", *LADDER]
        for name in LADDER:
            options = problem.variants[name].options
            assert contenders[name] == [options["exchange"], options["graph"]]


def test_the_advice_has_to_beat_every_other_way(problem: Problem) -> None:
    advice = next(claim for claim in problem.claims if isinstance(claim, Advice))
    for case in advice.at:
        timed = {name for name in LADDER if problem.covers("timing", name, case, "cuda")}
        assert timed == set(LADDER)
    assert advice.take == "packed"
    assert set(advice.but) == {"one-shot", "fused"}  # the same exchange in other kernels


def test_sizes_are_powers_of_two_and_hold_the_goals(problem: Problem) -> None:
    sizes = problem.cases["sweep"].params["sizes_kb"]
    assert sizes == [2**power for power in range(15)]
    assert set(GOAL_KB) <= set(sizes)
    assert f"_GOAL_KB = {GOAL_KB}" in (FOLDER / "in_turn.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["one-shot", "two-shot"])
def test_the_model_gives_back_what_two_gpus_took(modules: dict[str, ModuleType], kind: str) -> None:
    model = modules["model"]
    known = model.Measured(alone_ms=2.0, exposed_us=4.0, signal_us=1.0, gb_s=400.0)
    step = model.step_ms(known, kind, 2, 1 << 20, 16)
    assert step == pytest.approx(2.0 + 16 * 4.0 / 1e3)


def test_the_model_of_more_gpus_adds_bytes_alone(modules: dict[str, ModuleType]) -> None:
    model = modules["model"]
    known = model.Measured(alone_ms=2.0, exposed_us=4.0, signal_us=1.0, gb_s=400.0)
    size = 400_000  # 1 µs of the link
    one = [model.exchange_us(known, "one-shot", gpus, size) for gpus in (2, 4, 8)]
    two = [model.exchange_us(known, "two-shot", gpus, size) for gpus in (2, 4, 8)]
    assert one == pytest.approx([2.0, 4.0, 8.0])
    assert two == pytest.approx([3.0, 3.5, 3.75])
