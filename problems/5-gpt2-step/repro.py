"""Reproduce the ledger: a GPT-2 training step, one fix after the other, and their loss curves.

Run by ``harness run 5``; ``--dry-run`` prints the command and environment of each cell.
"""

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import torch
from gpt2 import annotate
from training import Training, distance, reference
from work import compulsory_bytes, step_flop, weights

from harness.probe.cell import Cell

PREDICTIONS = Path(__file__).with_name("predictions.json")
_LAST = 20


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(imports)
    cell.settings |= cell.params.get("sampling", {})
    with cell.phase("load"):
        training = Training(cell.params, cell.device)
    if cell.params["workload"] == "curve":
        curve(cell, training)
    else:
        step(cell, training)
    cell.finish()


def imports(params: dict[str, Any]) -> None:
    """Import what a cell of these params needs."""
    if params.get("compile"):
        importlib.import_module("torch._inductor.compile_fx")


def step(cell: Cell, training: Training) -> None:
    """Measure one step."""
    state(cell, training)
    with cell.phase("compile"):
        training.step()
        training.settle()
        training.step()
    if cell.capture == "torch" and not training.options.get("compile"):
        annotate(training.model)
    if cell.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    cell.measure("step", training.step)
    if cell.device == "cuda":
        cell.fact("peak_allocated_bytes", torch.cuda.max_memory_allocated(), "B")


def curve(cell: Cell, training: Training) -> None:
    """Compare gradients with those of float32, then train on real text and keep each loss."""
    losses = []
    with cell.phase("check"):
        error = distance(training.gradients(), reference(training))
    cell.fact("gradient_error", error)
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


def state(cell: Cell, training: Training) -> None:
    """State what the step has to do, and what was predicted of the variant."""
    shape, batch = training.shape, cell.params["batch"]
    cell.fact("weights", weights(shape), "weights")
    cell.fact("tokens", batch * shape.context, "tokens")
    cell.fact("logits_bytes", 2 * batch * shape.context * shape.vocabulary, "B")
    cell.fact("step_flop", step_flop(shape, batch), "FLOP")
    cell.fact("compulsory_bytes", compulsory_bytes(shape, batch), "B")
    if not PREDICTIONS.exists():  # the baseline is measured before them
        return
    whole = PREDICTIONS.read_bytes()
    cell.fact("predictions_sha256", hashlib.sha256(whole).hexdigest())
    predicted = json.loads(whole)["fixes"].get(cell.variant)
    if predicted is not None:
        cell.fact("predicted_saving_ms", predicted["saves_ms"], "ms")


if __name__ == "__main__":
    main()
