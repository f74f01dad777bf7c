"""Products of 8-bit operands, timed interleaved in this process: f0 to f3 beside torch's."""

from functools import partial
from statistics import median
from typing import Any

from build import CACHE, build, build_all
from clocks import Clocks
from contenders import prepare
from contest import as_shape
from facts import state
from rates import flop, tflops
from scaled import STEPS, WAITING, ScaledKernel
from scaled_operands import (
    Product,
    Run,
    Shape,
    bf16,
    drawn,
    exact,
    torch_blocks,
    torch_rows,
)

from harness.probe import ratios
from harness.probe.paired import Turns, interleaved, sets_beyond_cache
from harness.probe.power import Monitor

TORCH: dict[str, Run] = {
    "torch-rows": partial(torch_rows, fast=True),
    "torch-rows-exact": partial(torch_rows, fast=False),
    "torch-blocks": torch_blocks,
    "torch-bf16": bf16,
}
OURS = STEPS | WAITING
BY_BLOCK = {"f2", "f2-waiting", "f3", "f3-waiting", "torch-blocks"}
RIVALS = {
    name: ("torch-blocks",) if name in BY_BLOCK else ("torch-rows", "torch-rows-exact")
    for name in OURS
}
"""By step: torch's products with the same rule of scales."""
RAGGED: Shape = (257, 784, 2176)
"""A further shape to check: no tile of any step divides it."""
WRONG = 0.01
"""Relative error from which a product is another one; rounding it to bf16 takes 0.0017."""
TIMES_TORCH = 2.0
"""Largest ratio allowed of a step's error to that of torch's product with the same scales."""


def scaled(cell: Any) -> None:
    """Time every contender at every shape; each shape is a region."""
    prepare()
    build_all([(step, "bf16") for step in OURS.values()], CACHE)
    ours = {name: ScaledKernel(step, build(step).cubin) for name, step in OURS.items()}
    shares: dict[str, list[list[float]]] = {}
    worst = checked(cell, ours, drawn(RAGGED))[1]
    for shape in map(as_shape, cell.params["shapes"]):
        region, sets = "x".join(map(str, shape)), buffers(shape)
        cell.fact(f"flop.{region}", flop(shape), "FLOP")
        runs, ratio = checked(cell, ours, sets[0])
        worst = max(worst, ratio)
        for metric, values in compared(cell, region, runs, sets).items():
            shares.setdefault(metric, []).append(values)
    state(cell, [("scaled_error_ratio", worst, "×")])
    for metric, values in shares.items():
        cell.sample("geomean", metric, unit_of(metric), ratios.geometric_means(values))


def checked(cell: Any, ours: dict[str, Run], product: Product) -> tuple[dict[str, Run], float]:
    """Return the contenders of a shape, and the largest ratio of a step's error to torch's.

    A product of torch's that is wrong is left out; a step's ends the process.
    """
    region = "x".join(map(str, product.shape))
    runs = ours | runnable(cell, region, product)
    errors = {name: error_of(run, product, name) for name, run in runs.items()}
    for name, error in errors.items():
        cell.fact(f"error.{region}.{name}", error, "")
        if error < WRONG:
            continue
        if name in ours:
            raise SystemExit(f"{name}: wrong product of {product.shape}, relative error {error}")
        cell.fact(f"left_out.{region}.{name}", f"wrong: relative error {error:.2g}")
    runs = {name: run for name, run in runs.items() if errors[name] < WRONG}
    errors = {name: errors[name] for name in runs}
    return runs, largest_ratio(errors)


def buffers(shape: Shape) -> list[Product]:
    """Return sets of operands that together exceed L2 three times, counted as 8-bit ones."""
    m, n, k = shape
    return [drawn(shape) for _ in range(sets_beyond_cache(m * k + n * k + 2 * m * n))]


def runnable(cell: Any, region: str, product: Product) -> dict[str, Run]:
    """Return torch's products that this build has for the shape; state why the others are out."""
    runs = {}
    for name, run in TORCH.items():
        try:
            run(product)
        except (RuntimeError, ValueError, NotImplementedError) as error:
            cell.fact(f"left_out.{region}.{name}", str(error).partition("\n")[0])
            continue
        runs[name] = run
    return runs


def error_of(run: Run, product: Product, name: str) -> float:
    """Return a product's error against fp64 of the same 8-bit operands: relative, in the norm.

    It is no number if an element is left unwritten.
    """
    product.c.fill_(float("nan"))
    c = run(product).double()
    if name == "torch-bf16":
        reference = product.a.double() @ product.b.double().t()
    else:
        reference = exact(product.blocks if name in BY_BLOCK else product.rows)
    error: float = ((c - reference).norm() / reference.norm()).item()
    return error


def largest_ratio(errors: dict[str, float]) -> float:
    """Return the largest ratio of a step's error to its least exact rival's, or else to bf16's.

    A step whose error is too large ends the process: its time would mean nothing.
    """
    largest = 0.0
    for name, rivals in RIVALS.items():
        theirs = [errors[rival] for rival in rivals if rival in errors] or [errors["torch-bf16"]]
        largest = max(largest, errors[name] / max(theirs))
    if largest > TIMES_TORCH:
        raise SystemExit(f"a step errs {largest:.1f} times as much as torch: {errors}")
    return largest


def compared(
    cell: Any, region: str, runs: dict[str, Run], sets: list[Product]
) -> dict[str, list[float]]:
    """Time the contenders, keep their rates, and return the ratios of each turn by metric."""
    turns, batch_ms = int(cell.params["turns"]), float(cell.params["batch_ms"])
    with cell.exclusively():
        measured = interleaved(
            runs, [(each,) for each in sets], turns, Monitor(), Clocks(), batch_ms
        )
    for name, each in measured.items():
        metric = f"{name.replace('-', '_')}_tflops"
        cell.sample(region, metric, "TFLOP/s", tflops(flop(cell_shape(region)), each.us))
    shares = shares_of({name: each.us for name, each in measured.items()})
    for metric, values in shares.items():
        cell.sample(region, metric, unit_of(metric), values)
    state_clocks(cell, region, measured)
    return shares


def shares_of(times: ratios.Times) -> ratios.Values:
    """Return each step's rate in % of its better rival's, and both rules' gain over bf16."""
    shares: ratios.Values = {}
    for name, rivals in RIVALS.items():
        if any(rival in times for rival in rivals):
            better = times[ratios.better(times, rivals)]
            shares[f"{name.replace('-', '_')}_of_torch"] = ratios.percent(better, times[name])
    for name in STEPS:
        shares[f"{name}_over_bf16"] = ratios.over(times["torch-bf16"], times[name])
    shares["blocks_over_rows"] = ratios.over(times[ratios.better(times, ["f0", "f1"])], times["f3"])
    shares["f3_over_f2"] = ratios.over(times["f2"], times["f3"])
    return shares


def unit_of(metric: str) -> str:
    """Return the unit of one of these ratios."""
    return "%" if metric.endswith("_of_torch") else "×"


def cell_shape(region: str) -> Shape:
    """Return M, N, K of a region's name."""
    return as_shape([int(size) for size in region.split("x")])


def state_clocks(cell: Any, region: str, measured: dict[str, Turns]) -> None:
    """State each contender's median clock."""
    for name, turns in measured.items():
        cell.fact(f"mhz.{region}.{name}", median(turns.mhz), "MHz")
