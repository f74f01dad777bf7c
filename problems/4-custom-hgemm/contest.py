"""Products of one shape or of many, timed interleaved in this process; or one product alone."""

from typing import Any

from build import CACHE, build
from checking import ROWS_UNALIGNED, Errors, Run, Shape, chained, errors
from clocks import Clocks
from contenders import (
    FP32,
    WAITING,
    Operands,
    buffers,
    build_kernels,
    contender,
    kernel_names,
    prepare,
)
from dispatch import FMA_PER_CYCLE
from facts import keep, of_errors, of_shape, of_step, over_all, state
from rates import flop, of_tensor_rate, tflops
from steps import BASELINES, RUNGS

from harness.probe import ratios
from harness.probe.paired import Turns, interleaved
from harness.probe.power import Monitor

TENSOR_CORES = 4
"""Tensor cores per multiprocessor."""
TORCHS = (*BASELINES, FP32)
"""Contenders that run torch's kernels."""
RAGGED: Shape = (257, 776, 2056)
"""A further shape to check: no tile of any step divides it."""


def square(cell: Any) -> None:
    """Time every contender of one shape interleaved, and state each one's facts."""
    element, shape = cell.params["element"], as_shape(cell.params["shape"])
    names = cell.params["contenders"]
    prepare()
    state(cell, of_shape(shape))
    sets = buffers(element, shape)
    build_kernels(names, element, [shape])
    runs = bound(cell, names, shape, sets)
    built = {name: build(RUNGS[name], element, CACHE) for name in names if name in RUNGS}
    for name in built:
        right(name, runs[name], element, RAGGED)
        state(cell, of_step(RUNGS[name], built[name]), name)
    exactness = {name: right(name, run, element, shape) for name, run in runs.items()}
    for name, product_errors in exactness.items():
        state(cell, of_errors(product_errors), name)
    ours = [name for name in runs if name not in TORCHS]
    state(cell, over_all([exactness[name] for name in ours], list(built.values())))
    cell.fact("out_of_order", sum(chained(runs[name], element) for name in ours), "elements")
    compare(cell, runs, sets, flop(shape))
    for name in TORCHS:
        if name in runs:
            cell.fact(f"kernel.{name}", kernel_names(runs[name], sets[0]))


def sizes(cell: Any) -> None:
    """Time the dispatcher's choice of every shape against the baselines; each shape is a region."""
    element, names = cell.params["element"], [*BASELINES, "best", WAITING]
    shapes = [as_shape(sides) for sides in cell.params["shapes"]]
    prepare()
    build_kernels(names, element, shapes)
    of_all: dict[str, list[list[float]]] = {}
    exactness = []
    for shape in shapes:
        region, sets = "x".join(map(str, shape)), buffers(element, shape)
        state(cell, of_shape(shape), region)
        runs = bound(cell, names, shape, sets, region)
        exact = {name: right(name, runs[name], element, shape) for name in ("best", WAITING)}
        exactness += exact.values()
        state(cell, of_errors(exact["best"]), region)
        measured = timed(cell, runs, sets)
        times = {name: turns.us for name, turns in measured.items()}
        rates = {name: tflops(flop(shape), us) for name, us in times.items()}
        shares = ratios.of_baselines(times, "best", BASELINES)
        waiting = ratios.of_baselines(times, WAITING, BASELINES)
        shares["of_better_waiting"] = waiting["of_better"]
        keep(cell, region, {"tflops": rates["best"], **shares})
        keep(cell, region, {f"{name}_tflops": rates[name] for name in BASELINES})
        better = measured[ratios.better(times, BASELINES)]
        clocks = ratios.over(measured["best"].mhz, better.mhz)
        keep(cell, region, {"sm_mhz": measured["best"].mhz, "clock_of_better": clocks})
        for metric, values in shares.items():
            of_all.setdefault(metric, []).append(values)
    means = {metric: ratios.geometric_means(values) for metric, values in of_all.items()}
    keep(cell, "geomean", means)
    state(cell, over_all(exactness, []))
    odd = [right("best", runs["best"], element, shape) for shape in ROWS_UNALIGNED]
    state(cell, over_all(odd, []), "unaligned")


def alone(cell: Any) -> None:
    """Hand one contender over to the capture, and state its facts."""
    element, shape = cell.params["element"], as_shape(cell.params["shape"])
    name = cell.params["contender"]
    prepare()
    state(cell, of_shape(shape))
    least = TENSOR_CORES * flop(shape) / flop_per_cycle()  # ncu adds up those of a multiprocessor
    cell.fact("least_tensor_cycles", least, "cycles")
    operands = buffers(element, shape)[:1]
    run = bound(cell, [name], shape, operands)[name]
    if name in RUNGS:
        state(cell, of_step(RUNGS[name], build(RUNGS[name], element, CACHE)))
    state(cell, of_errors(right(name, run, element, shape)))
    cell.measure(name, lambda: run(*operands[0]))


def compare(cell: Any, runs: dict[str, Run], sets: list[Operands], work: int) -> None:
    """Time ``runs`` interleaved; keep rates, ratios and conditions of each as a region."""
    measured = timed(cell, runs, sets)
    times = {name: turns.us for name, turns in measured.items()}
    climbed = ratios.climbed(times, list(RUNGS))
    for name, turns in measured.items():
        rates = tflops(work, turns.us)
        keep(cell, name, {"tflops": rates})
        keep(cell, name, ratios.of_baselines(times, name, BASELINES) | climbed.get(name, {}))
        share = of_tensor_rate(rates, turns.mhz, flop_per_cycle())
        energy = [watt * us / 1e3 for watt, us in zip(turns.watt, turns.us, strict=True)]
        keep(cell, name, {"sm_mhz": turns.mhz, "nvml_mhz": turns.nvml_mhz, "power_w": turns.watt})
        keep(cell, name, {"of_tensor_rate": share, "energy": energy})


def timed(cell: Any, runs: dict[str, Run], sets: list[Operands]) -> dict[str, Turns]:
    """Return each contender's turns, measured while no other cell is on the GPU."""
    turns, batch_ms = int(cell.params["turns"]), float(cell.params["batch_ms"])
    with cell.exclusively():
        return interleaved(runs, sets, turns, Monitor(), Clocks(), batch_ms)


def bound(
    cell: Any, names: list[str], shape: Shape, sets: list[Operands], region: str = ""
) -> dict[str, Run]:
    """Return the contenders by name, and state the dispatcher's and cuBLASLt's choices."""
    element, ending = cell.params["element"], f".{region}" if region else ""
    chosen = {name: contender(name, element, shape, sets) for name in names if name != "cublaslt"}
    if "cublaslt" in names:
        with cell.exclusively():  # its algorithms are timed
            chosen["cublaslt"] = contender("cublaslt", element, shape, sets)
    for name in ("cublaslt", "best"):
        if name in chosen:
            cell.fact(f"choice_of_{name}{ending}", chosen[name][1])
    return {name: chosen[name][0] for name in names}


def right(name: str, run: Run, element: str, shape: Shape) -> Errors:
    """Return a product's errors. A wrong product ends the process: its time would mean nothing."""
    product_errors = errors(run, element, shape)
    if product_errors.wrong:
        raise SystemExit(f"{name}: wrong product, {product_errors}")
    return product_errors


def as_shape(sides: list[int]) -> Shape:
    """Return M, N, K from the manifest's list."""
    m, n, k = sides
    return m, n, k


def flop_per_cycle() -> float:
    """Return the dense 16-bit operations of this GPU's tensor cores in a cycle."""
    import torch

    return 2.0 * FMA_PER_CYCLE * torch.cuda.get_device_properties().multi_processor_count
