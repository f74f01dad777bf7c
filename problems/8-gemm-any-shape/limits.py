"""What a step of K waits for: stream_k whole, with its loads alone, with its products alone.

As many multiprocessors as run a cluster at once compute one tile each. A step of 64 of K takes the
difference of the times of two products that differ in K, over the difference of their steps, so
launch and end of a tile cancel.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from cubins import CACHE
from families import TILINGS, Tiling
from general import Library
from ladder import BOX, Run, Step, prepare
from plans import Plan, Problem, clusters_at_once, plans
from pool import OperandPool
from pooled import Batch
from summary import PRODUCTS

LAYOUT = "nt"
TILES = (
    "64x64_c1x1",
    "64x64_c4x2",
    "64x128_c1x1",
    "64x128_c4x2",
    "64x256_c1x1",
    "128x128_c1x1",
    "128x192_c1x1",
    "128x256_c1x1",
    "128x256_c2x1",
)
"""Tiles and clusters, of those that stream_k is built with."""
KINDS: dict[str, dict[str, int]] = {"whole": {}, "loads": {"PRODUCTS": 0}, PRODUCTS: {"LOADS": 0}}
"""What is compiled in place of the whole kernel."""
SHORT, LONG = 64, 320
"""Steps of K of the two products."""
BATCH_MS, ROUNDS = 3.0, 5
WITHOUT_LOADS = "128x256_c2x1", "256x128_c1x2"
"""Tiles whose products alone are timed beside a contest: of those built, they read least."""


class Part(Library):
    """Binds plans to kernels of a kind: ``macros`` are compiled into all of them."""

    def __init__(self, element: str, cache: Path, kind: str) -> None:
        super().__init__(element, cache)
        self._kind, self._macros = kind, KINDS[kind]

    def _function(self, step: Step) -> Any:
        if not self._macros:
            return super()._function(step)
        named = f"{step.name}_{self._kind}"
        return super()._function(replace(step, name=named, macros=step.macros | self._macros))


def tilings(names: Sequence[str] = TILES) -> list[Tiling]:
    """Return the configurations of these tiles and clusters."""
    built = [tiling for tiling in TILINGS if tiling.kernel == "stream_k" and not tiling.swapped]
    return [next(each for each in built if each.name.startswith(f"{name}_")) for name in names]


def without_loads(problem: Problem, element: str, cache: Path) -> dict[str, Run]:
    """Return kernels that multiply as much as a product needs, over and over the first stages.

    C is wrong. What takes time and power in them is the tensor cores' work and its operands' way
    from shared memory; a kernel of these tiles that also loads cannot be faster.
    """
    part = Part(element, cache, PRODUCTS)
    kept = tilings(WITHOUT_LOADS)
    return {
        f"{PRODUCTS}_{plan.name}": part.run(plan, problem)
        for plan in plans(problem)
        if plan.config in kept and not any(plan.copied)
    }


def one_wave(tiling: Tiling, steps: int) -> tuple[Problem, Plan]:
    """Return a product of a tile for each multiprocessor, and its plan."""
    step = Plan(tiling, 0, 1).step(Problem((1, 1, 1), LAYOUT))
    clusters = clusters_at_once(step)
    down = max(rows for rows in range(1, math.isqrt(clusters) + 1) if clusters % rows == 0)
    rows, columns = tiling.tile_m * step.cluster[0], tiling.tile_n * step.cluster[1]
    shape = down * rows, clusters // down * columns, steps * BOX
    return Problem(shape, LAYOUT), Plan(tiling, 0, clusters)


def measured(element: str, cache: Path = CACHE) -> Iterator[tuple[str, str, list[float]]]:
    """Yield tile, kind and the cycles of a step, a value a round, on torch's current device."""
    import torch
    from clocks import Clocks  # of problem 4: ladder.py has its folder

    clocks = Clocks(cache)
    prepare()
    pool, stream = OperandPool(element), torch.cuda.Stream()
    for name, tiling in zip(TILES, tilings(), strict=True):
        for kind in KINDS:
            library = Part(element, cache, kind)
            batches = []
            for steps in (SHORT, LONG):
                problem, plan = one_wave(tiling, steps)
                batches.append(Batch(library.run(plan, problem), pool.sets(problem), stream))
                batches[-1].lengthen(BATCH_MS)
            cycles = []
            for _ in range(ROUNDS):
                clocks.mark(end=False)
                taken = [_us(batch) for batch in batches]
                clocks.mark(end=True)
                cycles.append((taken[1] - taken[0]) / (LONG - SHORT) * clocks.mhz())
            yield name, kind, cycles


def shares(found: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return loads and products in % of the whole step, by round, of a tile's cycles by kind."""
    whole = median(found["whole"])
    return {
        kind: [100 * value / whole for value in values]
        for kind, values in found.items()
        if kind != "whole"
    }


def _us(batch: Batch) -> float:
    batch.start()
    return batch.us()
