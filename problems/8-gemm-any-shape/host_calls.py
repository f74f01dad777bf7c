"""How often per second the host can call the operator and torch.mm, and what a new size costs."""

import random
import time
from collections.abc import Callable, Sequence
from statistics import geometric_mean, median
from typing import Any

import torch
from gemm import hgemm
from ladder import Shape
from plans import Problem, mnk
from pool import OperandPool
from torch import Tensor

SHAPES: tuple[Shape, ...] = ((1000, 1000, 1000), (768, 256, 1024), (1536, 256, 1536))
"""So small that the host limits a model of such products."""
CALLS, BURST = 2000, 200
"""Calls of a contender in a round, and those between two waits: the launch queue holds 1024, and
who finds it full waits for the GPU."""
SETS, ROUNDS = 4, 12
"""Operands rotate, as between layers: their addresses differ from call to call."""
ELEMENTS = 1 << 26
"""Numbers in the pool of operands: all sets fit."""
ALL = "all"
NEW = "new sizes"
NEW_ROWS = range(100, 600, 40)
"""Rows of A in a layer of ``WIDTH`` by ``WIDTH``, as a server meets them: none was called before,
and the first only loads what all calls need."""
WIDTH = 4096

Product = Callable[[Tensor, Tensor], Tensor]
Rates = dict[str, list[float]]


def measured(element: str, shapes: Sequence[Shape] = SHAPES) -> dict[Shape, Rates]:
    """Return each contender's calls per second on torch's current GPU, a value a round."""
    contenders: dict[str, Product] = {"hgemm": hgemm, "torch": torch.mm}
    pool = OperandPool(element, ELEMENTS)
    operands = {
        shape: [(a, b) for a, b, _ in pool.sets(Problem(shape, "nn"))[:SETS]] for shape in shapes
    }
    found: dict[Shape, Rates] = {shape: {name: [] for name in contenders} for shape in shapes}
    with torch.no_grad():
        for sets in operands.values():
            for product in contenders.values():
                _seconds(product, sets, 2 * len(sets))  # bind, load modules
        for _ in range(ROUNDS):
            for shape, sets in operands.items():
                for name in random.sample(list(contenders), len(contenders)):
                    taken = sum(
                        _seconds(contenders[name], sets, BURST) for _ in range(CALLS // BURST)
                    )
                    found[shape][name].append(CALLS / taken)
    return found


def first_calls(element: str, rows: Sequence[int] = NEW_ROWS, width: int = WIDTH) -> Rates:
    """Return the ms that the host takes for a contender's first call of each size but the first."""
    contenders: dict[str, Product] = {"hgemm": hgemm, "torch": torch.mm}
    pool = OperandPool(element, ELEMENTS)
    found: Rates = {name: [] for name in contenders}
    with torch.no_grad():
        for m in rows:
            a, b, _ = pool.sets(Problem((m, width, width), "nt"))[0]
            for name, product in contenders.items():
                found[name].append(1e3 * _seconds(product, [(a, b.t())], 1))
    return {name: each[1:] for name, each in found.items()}


def keep_first(cell: Any, found: Rates) -> None:
    """State the ms of first calls, a value a size."""
    ours, other = _of(found)
    cell.sample(NEW, "first_ms", "ms", ours)
    cell.sample(NEW, "torch_first_ms", "ms", other)


def keep(cell: Any, found: dict[Shape, Rates]) -> None:
    """State calls per second, and the operator's over torch.mm's, of each shape and of all."""
    ratios = {
        mnk(shape): [ours / other for ours, other in zip(*_of(rates), strict=True)]
        for shape, rates in found.items()
    }
    turns = zip(*ratios.values(), strict=True)
    for region, values in (ratios | {ALL: list(map(geometric_mean, turns))}).items():
        cell.sample(region, "calls_over", "×", values)
    for shape, rates in found.items():
        ours, other = _of(rates)
        cell.sample(mnk(shape), "calls_per_s", "calls/s", ours)
        cell.sample(mnk(shape), "torch_calls_per_s", "calls/s", other)


def typical(rates: Rates) -> dict[str, int]:
    """Return each contender's median of calls per second."""
    return {name: round(median(values)) for name, values in rates.items()}


def _of(rates: Rates) -> tuple[list[float], list[float]]:
    return rates["hgemm"], rates["torch"]


def _seconds(product: Product, sets: Sequence[tuple[Tensor, Tensor]], calls: int) -> float:
    """Return the time that the host takes to enqueue so many calls, on an idle GPU."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls // len(sets)):
        for a, b in sets:
            product(a, b)
    taken = time.perf_counter() - begin
    torch.cuda.synchronize()
    return taken


if __name__ == "__main__":
    for of, by_name in measured("bf16").items():
        print(mnk(of), typical(by_name), "calls/s")
    for contender, values in first_calls("bf16").items():
        print(NEW, contender, f"{median(values):.3g} ms")
