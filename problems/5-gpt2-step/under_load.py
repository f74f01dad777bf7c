"""Choose the contender of each product that is fastest under load: ``python under_load.py CASE``.

A training step keeps the card at its power limit. There a product takes as long as its energy over
that limit, so plans are told apart by batches that follow each other for a quarter of a second,
after as long a time at the same load. Contenders are the plans that problem 8's model ranks
highest, some of each kernel, and torch.mm. Then each product with an epilogue is held against the
chosen product with the kernel after it. Adds a case of ``CASES`` to this GPU's part of
``choices.json``.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from any_shape import Batch, Library, OperandPool, Plan, Problem, Run, key, prepare, ranked
from products import CHOICES, LIBRARY, choices, problems
from with_epilogue import pairs
from work import CASES

PLANS, PLANS_OF_KERNEL = 7, 3
SETS = 8
BATCH_MS = 30.0
SETTLE_S, MEASURE_S = 0.15, 0.25
ROUNDS = 2


def contenders(problem: Problem) -> list[Plan]:
    """Return the plans of highest rank, a few of each kernel."""
    chosen: list[Plan] = []
    by_kernel: Counter[str] = Counter()
    for plan in ranked(problem):
        if by_kernel[plan.kernel] < PLANS_OF_KERNEL and len(chosen) < PLANS:
            chosen.append(plan)
            by_kernel[plan.kernel] += 1
    return chosen


def of_product(
    problem: Problem, pool: OperandPool, library: Library, stream: Any
) -> dict[str, float]:
    """Return the µs of each contender of a product under load."""
    runs = {LIBRARY: by_torch(problem.layout)}
    runs |= {plan.name: by_kernels(plan, problem, library) for plan in contenders(problem)}
    return times(runs, pool.sets(problem)[:SETS], stream)


def times(
    runs: Mapping[str, Callable[..., object]], sets: Sequence[tuple[Any, ...]], stream: Any
) -> dict[str, float]:
    """Return the µs of each run under load, the mean of all rounds, the shortest first."""
    batches = {name: Batch(run, sets, stream) for name, run in runs.items()}
    for batch in batches.values():
        batch.lengthen(BATCH_MS)
    taken: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(ROUNDS):
        for name in random.sample(list(batches), len(batches)):
            for_seconds(batches[name], SETTLE_S)
            taken[name] += for_seconds(batches[name], MEASURE_S)
    means = {name: round(sum(us) / len(us), 1) for name, us in taken.items()}
    return dict(sorted(means.items(), key=lambda pair: pair[1]))


def for_seconds(batch: Batch, seconds: float) -> list[float]:
    """Run a batch again and again; return the µs a launch of each."""
    taken, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds:
        batch.start()
        taken.append(batch.us())
    return taken


def by_torch(layout: str) -> Run:
    """Return torch.mm on operands that lie as ``layout`` says."""

    def run(a: Any, b: Any, c: Any) -> None:
        left, right = (
            operand.t() if letter == "t" else operand
            for operand, letter in zip((a, b), layout, strict=True)
        )
        torch.mm(left, right, out=c)

    return run


def by_kernels(plan: Plan, problem: Problem, library: Library) -> Run:
    """Return a plan's launches, bound once for each set of operands."""
    bound: dict[int, list[Callable[[int], None]]] = {}

    def run(a: Any, b: Any, c: Any) -> None:
        if c.data_ptr() not in bound:
            bound[c.data_ptr()] = list(library.bind(plan, problem, a, b, c))
        for launch in bound[c.data_ptr()]:
            launch(torch.cuda.current_stream().cuda_stream)

    return run


def main() -> None:
    """Measure every product of a case, then each with its epilogue, and write both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    case = parser.parse_args().case
    prepare()
    work = CASES[case]
    document = json.loads(CHOICES.read_text(encoding="utf-8")) if CHOICES.exists() else {}
    empty: dict[str, Any] = {"choices": {}, "us": {}, "epilogues": {}}
    known = document.setdefault(torch.cuda.get_device_name(), empty)
    pool, library, stream = OperandPool("bf16"), Library("bf16"), torch.cuda.Stream()
    for problem in problems(work):
        taken = of_product(problem, pool, library, stream)
        known["us"][key(problem, "bf16")] = taken
        known["choices"][key(problem, "bf16")] = next(iter(taken))
        print(key(problem, "bf16"), *list(taken.items())[:2], flush=True)
    _write(document)
    choices.cache_clear()  # the products that follow are by what was chosen
    known["epilogues"][case] = {}
    for name, (runs, sets) in pairs(work, SETS):
        known["epilogues"][case][name] = times(runs, sets, stream)
        print(name, known["epilogues"][case][name], flush=True)
    _write(document)


def _write(document: dict[str, Any]) -> None:
    CHOICES.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
