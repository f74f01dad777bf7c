"""A step of a denoiser by each way to run it: in turn in one process, or one under a profiler."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import floor
import likeness
import models
import torch
import turns
import ways
from graphs import Captured, replay_ms
from models import Inputs
from torch import Tensor, nn

from harness.probe.cell import Cell


def run(cell: Cell) -> None:
    """Compare the case's contenders, or record the variant's step."""
    with cell.phase("load"):
        base = models.denoiser(cell.params, cell.device)
        given = models.inputs(cell.params, cell.device)
        cell.fact("weights", models.weight_bytes(base) / 1e9, "GB")
    if cell.capture == "timing":
        compare(cell, base, given)
    else:
        profile(cell, base, given)


def profile(cell: Cell, base: nn.Module, given: Inputs) -> None:
    """Record the variant's step."""
    way = ways.make(base, cell.params)
    with cell.phase("compile"):
        way.step(given)
    step = Captured(way.step, given) if cell.params.get("graph") else way.step
    cell.measure("step", lambda: step(given))


def compare(cell: Cell, base: nn.Module, given: Inputs) -> None:
    """Sample each contender's step, and that of its CUDA graph."""
    with cell.phase("reference"):
        wanted = exact(base, given)
        state_work(cell, base, given)
    known: ways.Known = {}
    made: dict[str, ways.Way] = {}
    for name, switches in contenders(cell).items():
        try:
            made[name] = prepared(cell, name, lambda of=switches: ways.make(base, of, known), given)
        except RuntimeError as refusal:
            if "attention" not in switches:
                raise
            cell.fact(f"refused.{name}-called", str(refusal).splitlines()[0][:200])
    compare_outputs(cell, made, given, wanted)
    graphs: dict[str, Captured] = {}
    if cell.device == "cuda":
        with cell.phase("capture"):
            graphs = {name: Captured(way.step, given) for name, way in made.items()}
    steps = {f"{name}-called": way.step for name, way in made.items()}
    steps |= {f"{name}-replayed": graph for name, graph in graphs.items()}
    with cell.exclusively():
        rate = floor.product_rate(cell.device, models.dtype_of(cell.params))
        found = turns.alternated(
            {name: lambda step=step: step(given) for name, step in steps.items()},
            cell.params["turns"],
            cell.synchronize,
        )
        busy = {
            name: [replay_ms(graph.graph) for _ in range(cell.params["turns"])]
            for name, graph in graphs.items()
        }
    keep(cell, found, busy, cell.stated("tflop") * 1e12 / rate * 1e3)


def contenders(cell: Cell) -> dict[str, Mapping[str, Any]]:
    """Return the case's contenders, each with its switches."""
    found: dict[str, Mapping[str, Any]] = cell.params["contenders"]
    return found


def prepared(cell: Cell, name: str, make: Callable[[], ways.Way], given: Inputs) -> ways.Way:
    """Return a contender after its first call; state the seconds of that and the graphs."""
    before, begun = ways.graphs(), time.perf_counter()
    with cell.phase(f"compile-{name}"):
        way = make()
        way.step(given)
    cell.fact(f"first_s.{name}-called", time.perf_counter() - begun, "s")
    cell.fact(f"graphs.{name}-called", ways.graphs() - before)
    return way


def exact(base: nn.Module, given: Inputs) -> Tensor:
    """Return the step's output in the next wider format: fp32 for bf16, fp64 for fp32."""
    dtype = base.dtype
    wider = torch.float64 if dtype == torch.float32 else torch.float32
    widened = models.mapped(given, lambda one: one.to(wider) if one.is_floating_point() else one)
    output = base.to(wider)(**widened, return_dict=False)[0].clone()
    base.to(dtype)
    return output


def state_work(cell: Cell, base: nn.Module, given: Inputs) -> None:
    """State what a step has to compute."""
    flop, of_attention, _ = floor.counted(ways.make(base, {}).step, given)
    cell.fact("tflop", flop / 1e12, "TFLOP")
    cell.fact("attention_flop", 100 * of_attention / flop, "% of the operations")


def compare_outputs(
    cell: Cell, made: Mapping[str, ways.Way], given: Inputs, wanted: Tensor
) -> None:
    """State how far each contender is from the wider format's output, and from the first's."""
    outputs = {name: way.step(given).clone() for name, way in made.items()}
    first = next(iter(outputs.values()))
    own = likeness.error(first, wanted)
    worst = 0.0
    for name, output in outputs.items():
        error = likeness.error(output, wanted)
        cell.fact(f"error.{name}-called", 100 * error, "% of the output")
        cell.fact(f"farther.{name}-called", error / own)
        cell.fact(f"psnr.{name}-called", likeness.psnr_db(output, first), "dB")
        worst = max(worst, error / own)
    cell.fact("farther.worst", worst)


def keep(cell: Cell, found: turns.Found, busy: Mapping[str, list[float]], floor_ms: float) -> None:
    """Keep the samples; of a graph also the GPU's time, and that over the floor."""
    for name, metrics in found.items():
        for metric, values in metrics.items():
            cell.sample(name, metric, "ms", values)
    for name, values in busy.items():
        called, replayed = f"{name}-called", f"{name}-replayed"
        over = [value / floor_ms for value in values]
        waits = [
            100 * max(0.0, 1 - gpu / step)
            for gpu, step in zip(values, found[called]["step_ms"], strict=True)
        ]
        for region in (called, replayed):
            cell.sample(region, "gpu_ms", "ms", values)
            cell.sample(region, "over_floor", "×", over)
        cell.sample(called, "unbusy", "%", waits)
    cell.sample("floor", "gpu_ms", "ms", [floor_ms])
