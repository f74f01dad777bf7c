"""The manifest: a ladder of single changes, cells of two GPUs, and a model by its own formula."""

import itertools
from types import ModuleType
from typing import Any

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


@pytest.mark.parametrize("kind", ["one-shot", "two-shot", "packed-one-shot"])
def test_the_model_gives_back_what_two_gpus_took(modules: dict[str, ModuleType], kind: str) -> None:
    model = modules["model"]
    step = model.step_ms(known(model), kind, 2, 1 << 20, 16)
    assert step == pytest.approx(2.0 + 16 * 4.0 / 1e3)


def test_the_model_of_more_gpus_adds_bytes_alone(modules: dict[str, ModuleType]) -> None:
    size = 400_000  # 1 µs of the link
    us = {
        way: [
            modules["model"].exchange_us(known(modules["model"]), way, gpus, size)
            for gpus in (2, 4, 8)
        ]
        for way in modules["model"].WAYS
    }
    assert us["one-shot"] == pytest.approx([1 + 2, 3 + 2, 7 + 2])  # bytes, released signals
    assert us["two-shot"] == pytest.approx([1 + 4, 1.5 + 4, 1.75 + 4])
    assert us["ring"] == pytest.approx([1 + 4, 1.5 + 12, 1.75 + 28])
    assert us["packed-one-shot"] == pytest.approx([2 + 1, 6 + 1, 14 + 1])  # bare signals
    assert us["packed-two-shot"] == pytest.approx([2 + 2, 3 + 2, 3.5 + 2])


def test_ways_cross_where_bytes_cost_what_signals_save(modules: dict[str, ModuleType]) -> None:
    model, crossings = modules["model"], modules["crossings"]
    kinds = {kind for pair in crossings.PAIRS for kind in pair}
    taken = {kb: dict.fromkeys(kinds, 10.0) for kb in (1, 64, 256, 1024, 4096)}
    assert crossings.crossings(taken) == {}
    two = crossings.crossings(model.series(known(model), 2, taken))
    us = 400e3 / 1024  # KiB that the link carries in 1 µs
    assert two == pytest.approx(
        {
            "packed-to-one-shot": us,
            "packed-to-two-shot": 3 * us,
            "any-packed-one-shot-to-any-two-shot": 3 * us,
        }
    )
    four = model.series(known(model), 4, {kb: model_of_two(model, kb, kinds) for kb in taken})
    assert crossings.crossings(four)["any-one-shot-to-any-two-shot"] == pytest.approx(2 * us / 1.5)


def test_a_crossing_is_where_a_difference_changes_for_good(modules: dict[str, ModuleType]) -> None:
    crossing = modules["crossings"].crossing
    assert crossing({1: -1.0, 2: 0.5, 4: -2.0, 8: 2.0, 16: 9.0}) == 6.0
    assert crossing({1: -1.0, 2: 0.0, 4: 2.0}) == 2.0
    assert crossing({1: -1.0, 2: -0.5}) is crossing({1: 1.0, 2: 2.0}) is crossing({}) is None


def known(model: ModuleType) -> Any:
    return model.Measured(alone_ms=2.0, exposed_us=4.0, signal_us=1.0, fenced_us=2.0, gb_s=400.0)


def model_of_two(model: ModuleType, kb: int, kinds: set[str]) -> dict[str, float]:
    """Return what two GPUs take if launches add nothing."""
    found: dict[str, float] = model.series(known(model), 2, {kb: dict.fromkeys(kinds, 0.0)})[kb]
    return found
