"""Check and time one problem's contenders: ours, every candidate of cuBLASLt, torch.mm."""

import json
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any

from cublaslt_pool import Pool
from device import peak_bandwidth
from general import Library
from ladder import Run, Shape, prepare, product
from model import ranked
from plans import Plan, Problem, describe, understood
from pool import GUARD, OperandPool, Operands
from pooled import CLOCKED_MS, COLD_ROUNDS, Regime, cold, contest
from summary import PRODUCTS

TIMES_CUBLAS = 2.0
"""Largest ratio allowed of an error to that of cuBLAS."""
REPEATS = 3
"""Runs without a pause whose results have to be bitwise equal."""
WATCHED = "AT "
"""What a line for the parent begins with before anything that may hang."""


def at(place: str) -> None:
    """Tell the parent what runs next."""
    print(f"{WATCHED}{place}", flush=True)


def emit(row: dict[str, Any]) -> None:
    """Hand the parent a row."""
    print("ROW " + json.dumps(row), flush=True)


class Phases:
    """The seconds that each part of a problem's measurement took, which a row states."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self.spent: dict[str, float] = {}

    def end(self, name: str) -> None:
        """Note what ended here and began with the last, or with the problem."""
        now = time.monotonic()
        self.spent[name], self._since = round(now - self._since, 3), now


class Measuring:
    """Measures problems on torch's current device; one process measures many."""

    def __init__(
        self, element: str, cache: Path, avoided: set[str], beside: Sequence[str] = ()
    ) -> None:
        prepare()
        self._beside = beside
        self._element, self._cache, self._avoided = element, cache, avoided
        self._library = Library(element, cache)
        self._waiting = Library(element, cache, pdl=False)
        self._pool = OperandPool(element)
        self._dram = peak_bandwidth()

    @cached_property
    def _clocks(self) -> Any:
        """Problem 4's counters of the multiprocessors' cycles; ladder.py has its folder."""
        from clocks import Clocks

        return Clocks(self._cache)

    def check(self, problem: Problem) -> None:
        """Check every plan of a problem, and emit a row for each."""
        reference = Reference(self._pool, problem)
        for plan in ranked(problem, self._dram):
            name, step = plan.name, plan.step(problem).name
            if step in self._avoided:
                continue
            at(f"{describe(problem)} {step} {name}")
            run = self._library.run(plan, problem)
            emit({"kind": "check", "plan": name, "step": step} | reference.of(run))

    def time(self, problem: Problem, most: int, regime: Regime) -> None:
        """Time a problem's contenders and emit a row; wrong contenders are left out."""
        place, phases = describe(problem), Phases()
        reference = Reference(self._pool, problem)
        ranking = ranked(problem, self._dram)
        ours, errors, plans = self._right(problem, reference, ranking[:most])
        phases.end("check")
        sets = self._pool.sets(problem)
        always: dict[str, Run] = {"torch": torch_product(problem)}
        chosen = ranking[0]
        if chosen.name in ours:
            always[chosen.name] = ours[chosen.name]
        at(f"{place} library heuristic")
        pool = Pool(self._element, problem)
        library = {f"lt{index}": pool.run(index) for index in pool.able(sets[0])}
        phases.end("candidates")
        sides = {"library": library, "ours": ours}
        for side in self._beside:
            sides[side] = self._beside_of(side, problem, reference)

        def tell(name: str) -> None:
            at(f"{place} - {name}")

        clocks = self._clocks if regime.batch_ms >= CLOCKED_MS else None
        result = contest(sides, always, sets, tell, regime, clocks)
        phases.end("contest")
        result |= self._further(
            problem, result["finals"], {**always, **library, **ours}, plans, sets, regime
        )
        phases.end("columns")
        result |= {"choice": chosen.name, "errors": errors, "candidates": len(library)}
        self._emit(problem, regime, len(sets), len(ours), phases, result)

    def alone(self, problem: Problem, most: int, regime: Regime) -> None:
        """Time a problem's plans without a library and unchecked, and emit a row for fit.py."""
        place, phases = describe(problem), Phases()
        ranking = ranked(problem, self._dram)
        steps = {plan.name: plan.step(problem).name for plan in ranking[:most]}
        ours = {
            plan.name: self._library.run(plan, problem)
            for plan in ranking[:most]
            if steps[plan.name] not in self._avoided
        }
        sets = self._pool.sets(problem)
        result = contest(
            {"ours": ours},
            {},
            sets,
            lambda name: at(f"{place} {steps.get(name, '-')} {name}"),
            regime,
        )
        phases.end("contest")
        result |= {"choice": ranking[0].name, "errors": {}, "candidates": 0}
        self._emit(problem, regime, len(sets), len(ours), phases, result)

    def _emit(
        self,
        problem: Problem,
        regime: Regime,
        sets: int,
        plans: int,
        phases: Phases,
        result: dict[str, Any],
    ) -> None:
        """Emit the row of a timed problem."""
        emit(
            {"kind": "time", "shape": problem.shape, "layout": problem.layout}
            | {"batch_ms": regime.batch_ms, "rest_ms": regime.rest_ms, "plans": plans}
            | {"element": self._element, "sets": sets, "dram": self._dram}
            | {"spent_s": phases.spent}
            | result
        )

    def _right(
        self, problem: Problem, reference: "Reference", contenders: Sequence[Plan]
    ) -> tuple[dict[str, Run], dict[str, Any], dict[str, Plan]]:
        """Return the contenders whose product is right, and the errors of all."""
        ours: dict[str, Run] = {}
        errors: dict[str, Any] = {}
        plans: dict[str, Plan] = {}
        for plan in contenders:
            step = plan.step(problem).name
            if step in self._avoided:
                continue
            at(f"{describe(problem)} {step} {plan.name}")
            run = self._library.run(plan, problem)
            errors[plan.name] = reference.of(run)
            if not errors[plan.name]["wrong"]:
                ours[plan.name], plans[plan.name] = run, plan
        return ours, errors, plans

    def _beside_of(self, side: str, problem: Problem, reference: "Reference") -> dict[str, Run]:
        """Return the contenders of a further side whose result is right; products alone never."""
        found = {}
        for name, run in self._contenders(side, problem).items():
            at(f"{describe(problem)} - {name}")
            if side == PRODUCTS or not reference.of(run)["wrong"]:
                found[name] = run
        return found

    def _contenders(self, side: str, problem: Problem) -> dict[str, Run]:
        if side == "cutlass":
            import cutlass_matmul

            return cutlass_matmul.runs(problem, self._element, self._cache)
        if side == PRODUCTS:
            import limits

            return limits.without_loads(problem, self._element, self._cache)
        import triton_matmul

        return triton_matmul.runs(partial(oriented, problem))

    def _further(
        self,
        problem: Problem,
        finals: dict[str, list[float]],
        runs: dict[str, Run],
        plans: dict[str, Plan],
        sets: list[Operands],
        regime: Regime,
    ) -> dict[str, Any]:
        """Return the cold column of each side's best, and ours without dependent launches."""
        library = min(
            (name for name in finals if name == "torch" or name.startswith("lt")),
            key=lambda name: median(finals[name]),
        )
        ours = [name for name in finals if name in plans]
        names = [library, *ours[:1]]  # the first of ours is the model's choice
        at(f"{describe(problem)} - the cold column")
        column = {"library": library, "cold": cold({n: runs[n] for n in names}, sets, COLD_ROUNDS)}
        if not ours:
            return column
        at(f"{describe(problem)} - without dependent launches")
        pair = {library: runs[library], "waiting": self._waiting.run(plans[ours[0]], problem)}
        times = contest({}, pair, sets, lambda _: None, regime)["finals"]
        return column | {
            "waiting": {"plan": ours[0], "us": times["waiting"], "library": times[library]}
        }


class Reference:
    """A problem's operands, its product in fp32, and the error of torch's product."""

    def __init__(self, pool: OperandPool, problem: Problem) -> None:
        import torch

        self._operands = pool.poisoned(problem, seed=0)
        a, b, _, _ = self._operands
        left, right = oriented(problem, a, b)
        self._exact = left.float() @ right.float()
        self._norm = self._exact.norm()
        self.torch = self._error(torch.mm(left, right))

    def of(self, run: Run) -> dict[str, Any]:
        """Run into memory of NaN a few times; return the error, and the faults, "" if none."""
        import torch

        a, b, c, memory = self._operands
        memory.fill_(float("nan"))
        run(a, b, c)
        torch.cuda.synchronize()
        first = c.clone()
        error = self._error(first)
        outside = memory[:GUARD].isnan().all() & memory[GUARD + c.numel() :].isnan().all()
        for _ in range(REPEATS):
            run(a, b, c)
        torch.cuda.synchronize()
        wrong = []
        if not error <= TIMES_CUBLAS * self.torch + 1e-6:
            wrong.append(f"{int(first.isnan().sum())} NaN")
        if not bool(outside):
            wrong.append("wrote outside C")
        if not wrong and not torch.equal(c, first):
            wrong.append("another result when repeated")
        return {"error": error, "torch": self.torch, "wrong": "; ".join(wrong)}

    def _error(self, c: Any) -> float:
        return ((c.float() - self._exact).norm() / self._norm).item()


def oriented(problem: Problem, a: Any, b: Any) -> tuple[Any, Any]:
    """Return A and B as M by K and K by N, whichever way they lie."""
    return (a.t() if problem.layout[0] == "t" else a, b.t() if problem.layout[1] == "t" else b)


def torch_product(problem: Problem) -> Run:
    """Return torch.mm of the operands as they lie."""
    if problem.layout == "nn":
        return product

    def run(a: Any, b: Any, c: Any) -> None:
        product(*oriented(problem, a, b), c)

    return run


def shape_argument(text: str) -> Shape:
    """Return the shape that a command line names."""
    try:
        return understood(text).shape
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def main() -> None:
    """Measure the problems named on standard input, one a line; what to avoid is an argument."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # harness.probe, of this checkout
    options = json.loads(sys.argv[1])
    measuring = Measuring(
        options["element"],
        Path(options["cache"]),
        set(options["avoided"]),
        options["beside"],
    )
    regime = Regime(options["batch_ms"], options["rest_ms"], options["finals"])
    for line in sys.stdin:
        problem = understood(line.strip())
        if options["check"]:
            measuring.check(problem)
        else:
            take = measuring.alone if options["alone"] else measuring.time
            take(problem, options["most"], regime)
        at("the next problem")


if __name__ == "__main__":
    main()
