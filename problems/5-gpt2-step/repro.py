"""Reproduce the ledger: a GPT-2 training step, one fix after the other, and their loss curves.

Run by ``harness run 5``; ``--dry-run`` prints the command and environment of each cell.
"""

import hashlib
import importlib
import json
import math
from pathlib import Path
from typing import Any

import torch
from energy import watched
from gpt2 import annotate
from training import Training, distance, reference, worst_distance
from turns import in_turns
from work import CASES, compulsory_bytes, step_flop, weights

from harness.probe.cell import Cell

PREDICTIONS = Path(__file__).with_name("predictions.json")
_LAST = 20
_BY_OPERATOR = ("torch", "ncu")
"""Captures of steps without the CUDA graph. Of a graph they name the launch alone; without it the
host launches the same kernels one by one, each from its operator."""


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(imports)
    cell.settings |= cell.params.get("sampling", {})
    if cell.capture in _BY_OPERATOR:
        cell.params["graph"] = False
    if cell.params["workload"] == "attention":
        attention(cell)
        cell.finish()
        return
    with cell.phase("load"):
        training = Training(cell.params, cell.device)
    if cell.params["workload"] == "curve":
        curve(cell, training)
    else:
        step(cell, training)
    cell.finish()


def imports(params: dict[str, Any]) -> None:
    """Import what a cell of these params needs."""
    if params.get("compile") or params.get("against", {}).get("compile"):
        importlib.import_module("torch._inductor.compile_fx")


def step(cell: Cell, training: Training) -> None:
    """Measure one step, unprofiled also in turns with the step that params hold it against."""
    state(cell, training)
    if cell.capture == "timing":
        with cell.phase("check"):
            check(cell, training)
    with cell.phase("compile"):
        training.step()
        if cell.device == "cuda":
            torch.cuda.reset_peak_memory_stats()  # a graph's memory counts as it is recorded
        training.settle()
        training.step()
    if cell.device == "cuda":
        cell.fact("peak_allocated_bytes", torch.cuda.max_memory_allocated(), "B")
    if cell.capture == "torch" and not training.options.get("compile"):
        annotate(training.model)
    if cell.capture != "timing":
        cell.measure("step", training.step)
        return
    with cell.phase("against"):
        same = {key: cell.params[key] for key in ("model", "batch")}
        other = Training(same | cell.params["against"], cell.device)
        other.step()
        other.settle()
    cell.measure("step", training.step)
    with cell.exclusively("step"):
        turns = in_turns(training.step, other.step, cell.params["turns"], cell.synchronize)
        clock, power_share, energy = watched(training.step, cell.synchronize)
    cell.sample("step", "wall_ratio", "×", [own / others for own, others in turns])
    cell.sample("step", "reference_time", "ms", [1e3 * others for _, others in turns])
    known = (
        ("clock", "MHz", clock),
        ("power_share", "%", 100 * power_share),
        ("energy", "J", energy),
    )
    for metric, unit, value in known:
        if math.isfinite(value):
            cell.sample("step", metric, unit, [value])


def check(cell: Cell, training: Training) -> None:
    """State how far the gradients are from those of float32 arithmetic."""
    found, right = training.gradients(), reference(training)
    cell.fact("gradient_error", distance(found, right))
    cell.fact("worst_gradient_error", worst_distance(found, right))


def curve(cell: Cell, training: Training) -> None:
    """Compare gradients with those of float32, then train on real text and keep each loss."""
    losses = []
    with cell.phase("check"):
        check(cell, training)
    with cell.phase("compile"):
        training.step()
        training.settle()
        training.restart()
    with cell.phase("train"):
        for number in range(cell.params["train_steps"]):
            training.load(number)
            losses.append(training.step().clone())
    values = torch.stack(losses).tolist()
    cell.sample("curve", "loss", "nat", values)
    cell.fact("final_loss", sum(values[-_LAST:]) / len(values[-_LAST:]), "nat")


def attention(cell: Cell) -> None:
    """Measure both passes of one layer's attention by the backend that params name."""
    from attention_backends import flop, passes

    work = CASES["step"]
    with cell.phase("compile"):
        both = passes(work, cell.params["backend"], cell.device)
        both()
    cell.fact("layer_tflop", flop(work) / 1e12, "TFLOP")
    cell.measure("attention", both)


def state(cell: Cell, training: Training) -> None:
    """State what the step has to do, and what was predicted of the variant."""
    shape, batch = training.shape, cell.params["batch"]
    cell.fact("weights", weights(shape), "weights")
    cell.fact("tokens", batch * shape.context, "tokens")
    cell.fact("logits_bytes", 2 * batch * shape.context * shape.vocabulary, "B")
    cell.fact("step_flop", step_flop(shape, batch), "FLOP")
    cell.fact("step_tflop", step_flop(shape, batch) / 1e12, "TFLOP")
    cell.fact("compulsory_bytes", compulsory_bytes(shape, batch), "B")
    if not PREDICTIONS.exists():  # the baseline is measured before them
        return
    whole = PREDICTIONS.read_bytes()
    cell.fact("predictions_sha256", hashlib.sha256(whole).hexdigest())
    of_gpu = (
        json.loads(whole).get(torch.cuda.get_device_name(), {}) if cell.device == "cuda" else {}
    )
    predicted = of_gpu.get(cell.case, {"fixes": {}})["fixes"].get(cell.variant)
    if predicted is not None:
        cell.fact("predicted_saving_ms", predicted["saves_ms"], "ms")


if __name__ == "__main__":
    main()
