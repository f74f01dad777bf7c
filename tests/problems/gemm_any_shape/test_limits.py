"""limits.py: which kernels it times, over which products, and what it makes of their times."""

import math
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def limits(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("limits")


def test_every_tile_is_built(limits: ModuleType) -> None:
    assert [tiling.name.rpartition("_g")[0] for tiling in limits.tilings()] == [*limits.TILES]


@pytest.mark.parametrize("steps", [64, 320])
def test_a_product_has_a_tile_for_each_multiprocessor(limits: ModuleType, steps: int) -> None:
    for tiling in limits.tilings():
        problem, plan = limits.one_wave(tiling, steps)
        m, n, k = problem.shape
        tiles = m // tiling.tile_m * (n // tiling.tile_n)
        assert m % tiling.tile_m == n % tiling.tile_n == 0
        assert k == 64 * steps
        together = math.prod(tiling.cluster)
        assert tiles == plan.units * together == {1: 132, 2: 132, 8: 120}[together]
        assert plan.spread == 0


def test_parts_are_shares_of_the_whole_step(limits: ModuleType) -> None:
    found = {"whole": [400.0, 500.0, 480.0], "loads": [456.0, 432.0], "products": [240.0]}
    assert limits.shares(found) == {"loads": [95.0, 90.0], "products": [50.0]}


def test_a_kind_has_kernels_of_its_own(limits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[str, dict[str, int]]] = []

    def function(_self: object, step: object) -> None:
        built.append((step.name, step.macros))  # type: ignore[attr-defined]

    monkeypatch.setattr(limits.Library, "_function", function)
    problem, plan = limits.one_wave(limits.tilings()[0], 64)
    for kind in limits.KINDS:
        limits.Part("bf16", None, kind)._function(plan.step(problem))
    (whole, _), (loads, without_products), (products, without_loads) = built
    assert (loads, products) == (f"{whole}_loads", f"{whole}_products")
    assert without_products["PRODUCTS"] == without_loads["LOADS"] == 0
    assert "LOADS" not in without_products


def test_products_alone_are_as_many_as_a_product_needs(
    limits: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.Part, "run", lambda self, plan, _: (self._kind, plan))
    problem = limits.Problem((4096, 4096, 4096), "nn")
    found = limits.without_loads(problem, "bf16", None)
    assert {kind for kind, _ in found.values()} == {"products"}
    assert set(found) == {f"products_{plan.name}" for _, plan in found.values()}
    tiles = {plan.config.name.rpartition("_g")[0] for _, plan in found.values()}
    assert tiles == set(limits.WITHOUT_LOADS)
    assert {plan.spread > 0 for _, plan in found.values()} == {True, False}
