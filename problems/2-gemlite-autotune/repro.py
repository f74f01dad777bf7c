"""Reproduce what GemLite's autotuning buys: a stack of linear layers, one batch size a cell.

Run by ``harness run 2``; ``--dry-run`` prints the command and environment of each cell.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import tuning
from layers import Stack, activations, build, relative_error, replayed
from ranking import Candidate, Choices, compared
from selection import bucket, described, grid, kernel_for
from torch import Tensor

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load()
    with torch.inference_mode():
        if cell.params["bits"] < 16:
            quantised(cell)
        else:
            plain(cell)
    cell.finish()


def plain(cell: Cell) -> None:
    """Measure bf16: cuBLAS's product, or Inductor's, which tunes at the first call."""
    with cell.phase("load"):
        stack, x = loaded(cell)
    if cell.params.get("tune_coordinates"):
        with cell.phase("tune"):
            stack.forward(x)
    measure(cell, stack, x)


def quantised(cell: Cell) -> None:
    """Choose a configuration of GemLite's kernel, then measure; all layers share the choice."""
    from autotuners import autotuner, compiled, ran, ready

    bits, m = cell.params["bits"], cell.params["m"]
    with cell.phase("load"):
        gemlite = ready(cell.params["mode"])
        stack, x = loaded(cell)
    tuner = autotuner(m, bits)
    file = tuning.path(cell.params)
    known = cell.capture != "timing" and tuning.load(gemlite, file)
    with cell.phase("compile"):
        compile_s = compiled(lambda: stack.layers[0](x), tuner)
    if not known:
        cell.fact("compile_s", compile_s, "s")
        with cell.phase("tune"):
            choose(cell, stack, x, tuner)
        tuning.store(gemlite, file)
    cell.fact("gemlite", gemlite.__version__)
    state_choice(cell, ran(tuner))
    measure(cell, stack, x)


def choose(cell: Cell, stack: Stack, x: Tensor, tuner: Any) -> None:
    """Let GemLite's tuner choose, or take the candidate that is fastest in the stack."""
    import rank
    from autotuners import candidates, tuned

    torch.cuda.Event(enable_timing=True)  # the cell waits for the GPU here, and not in the tuner
    start = time.perf_counter()
    if cell.params.get("choose") == "in the stack":
        rank.choose(stack, x, tuner)
    else:
        tuned(lambda: stack.layers[0](x), tuner)
    torch.cuda.synchronize()
    cell.fact("tune_s", time.perf_counter() - start, "s")
    cell.fact("configurations", len(candidates(tuner)) or 1, "configurations")
    if cell.params.get("compare"):
        state_ranking(cell, *rank.compare(stack, x, tuner))
    stack.layers[0](x)


def loaded(cell: Cell) -> tuple[Stack, Tensor]:
    """Return the stack and its input, and state their sizes."""
    count = cell.params["layers"]
    stack = build(cell.params, count, cell.device)
    size, m = cell.params["n"] * cell.params["k"], cell.params["m"]
    cell.fact("layers", count, "layers")
    cell.fact("weights", count * size, "weights")
    cell.fact("weight_bytes", stack.stored_bytes, "B")
    cell.fact("weight_error", stack.weight_error)
    cell.fact("flop", count * 2 * m * size, "FLOP")
    outside = count * 2 * m * (cell.params["k"] + cell.params["n"])
    cell.fact("io_bytes", stack.stored_bytes + outside, "B")
    return stack, activations(m, cell.params["k"], cell.device)


def measure(cell: Cell, stack: Stack, x: Tensor) -> None:
    """Check the product, then hand over the step: call by call, or replayed from a CUDA graph.

    Nsight Compute profiles kernel by kernel, from a graph or not, so it gets the calls.
    """
    step: Callable[[], Tensor] = lambda: stack.forward(x)  # noqa: E731
    if cell.params.get("graph") and cell.capture != "ncu":
        with cell.phase("record"):
            step = replayed(step)
    with cell.phase("first"):
        cell.fact("relative_error", relative_error(step(), x, stack.dense))
    cell.measure("forward", step)


def state_choice(cell: Cell, config: dict[str, Any]) -> None:
    """State the kernel that runs and its configuration."""
    bits, m, n, k = (cell.params[key] for key in ("bits", "m", "n", "k"))
    kernel = kernel_for(m, bits)
    tiles, parts = grid(kernel, config, m, n, k)
    cell.fact("kernel", kernel)
    cell.fact("config", described(config))
    cell.fact("tiles", tiles, "programs")
    cell.fact("k_parts", parts, "programs")
    cell.fact("bucket", bucket(m), "rows")


def state_ranking(cell: Cell, ranked: Sequence[Candidate], choices: Choices) -> None:
    """State how the tuner ranks its candidates, with and without its copies, and their times."""
    for name, (value, unit) in compared(ranked, choices).items():
        cell.fact(name, value, unit)
    for name, chosen in choices.items():
        for number, index in enumerate(chosen, 1):
            cell.fact(f"{name}_choice.{number}", described(ranked[index].config))
    ordered = sorted(ranked, key=lambda candidate: candidate.alone)
    for place, candidate in enumerate(ordered, 1):
        cell.fact(f"candidate.{place}", described(candidate.config))
    for metric in ("tuner", "repeated", "uncopied", "alone"):
        values = [getattr(candidate, metric) for candidate in ordered]
        cell.sample("candidates", f"candidate_{metric}", "us", values)


if __name__ == "__main__":
    main()
