"""Reproduce the memory cost and time gain of CUDA graphs in linears in a row and in a decoder.

Run by ``harness run 3``; ``--dry-run`` prints the command and environment of each cell.
"""

import gc
from collections.abc import Callable
from typing import Any

import torch
from ledger import Ledger
from manual import Recorded, chain
from torch import Tensor, nn
from variants import MODES, prepare, quantise
from workloads.decoder import SHAPES, build

from harness.probe.cell import Cell

Steps = dict[str, Callable[[], object]]
"""A cell's steps by region; the first is studied call by call, the others are new shapes."""


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(prepare)
    torch.manual_seed(0)
    cell.settings |= cell.params.get("sampling", {})
    with torch.inference_mode():
        WORKLOADS[cell.params["workload"]](cell)
    cell.finish()


def stack(cell: Cell) -> None:
    """Run eight square linears at one batch after the other: the cost per weight alone."""
    width, layers, ms = (cell.params[key] for key in ("width", "layers", "ms"))
    ledger = begin(cell, expected=len(ms))
    with cell.phase("load"):
        linears = [nn.Linear(width, width, bias=False, dtype=torch.bfloat16) for _ in range(layers)]
        model = nn.Sequential(*linears).to(cell.device).eval().requires_grad_(False)
        inputs = {
            f"m{m}": torch.randn(m, width, dtype=torch.bfloat16, device=cell.device) for m in ms
        }
    put_in_place(cell, ledger, model)
    eager: Steps = {name: lambda x=x: model(x) for name, x in inputs.items()}
    fast = compiled(cell, model)
    steps: Steps = {name: lambda x=x: fast(x) for name, x in inputs.items()}
    study(cell, ledger, eager, steps)


def decoder(cell: Cell) -> None:
    """Run a decoder at batch 1; its prefill is eager unless the variant graphs everything."""
    length, everything = cell.params["prompt"], cell.params.get("all_graphed", False)
    ledger = begin(cell, expected=2 if everything else 1)
    with cell.phase("load"):
        model = build(cell.params["model"], -(-(length + 1) // 8) * 8, cell.device, cache="stacked")
        vocabulary = SHAPES[cell.params["model"]].vocabulary
        prompt = torch.randint(vocabulary, (1, length), device=cell.device)
        positions = torch.arange(length, device=cell.device)
        token, position = prompt[:, :1].clone(), torch.tensor([length], device=cell.device)
    put_in_place(cell, ledger, model)

    def next_token(tokens: Tensor, at: Tensor) -> Tensor:
        # Written out it fuses; the fused attention kernels are made for long queries.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return model(tokens, at).argmax(-1, keepdim=True)

    fast = compiled(cell, next_token)
    first = fast if everything else next_token
    eager: Steps = {
        "decode": lambda: next_token(token, position),
        "prefill": lambda: next_token(prompt, positions),
    }
    steps: Steps = {
        "decode": lambda: fast(token, position),
        "prefill": lambda: first(prompt, positions),
    }
    study(cell, ledger, eager, steps)


def chains(cell: Cell) -> None:
    """Record chains of one small kernel, each length several times; sample the driver's B/node.

    The driver takes memory in pieces of some MiB, so a chain may take one piece more or less than
    the next of its length: the longer the chain, the less that is per node.
    """
    ledger = begin(cell, expected=0)
    recorded = []  # a graph that is gone gives its bytes to the next
    for nodes in cell.params["chains"]:
        each = []
        with cell.exclusively(f"n{nodes}"):
            for _ in range(1 + cell.params["repeats"]):
                step = Recorded(chain(nodes, cell.device))
                step()
                before = ledger.outside()
                step()
                after = ledger.outside()
                recorded.append(step)
                if before is not None and after is not None:
                    each.append((after - before) / nodes)
        if each:  # the first also takes what the driver needs once
            cell.sample(f"n{nodes}", "driver_bytes_per_node", "B/node", each[1:])


def begin(cell: Cell, expected: int) -> Ledger:
    """Start the ledger before the first allocation."""
    ledger = Ledger(cell, expected if cell.params["mode"] == "graphs" else 0)
    ledger.state("import")
    return ledger


def put_in_place(cell: Cell, ledger: Ledger, model: nn.Module) -> None:
    """Quantise, then free the memory cached so far, so that later memory belongs to inference."""
    ledger.weigh(model)
    ledger.state("load")
    with cell.phase("quantise"):
        quantise(model, cell.params)
        empty(cell)
    ledger.state("quantise")
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    sizes = [module.in_features * module.out_features for module in linears]
    cell.fact("linears", len(sizes), "linears")
    cell.fact("largest_weight", max(sizes), "weights")


def compiled(cell: Cell, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` compiled in the variant's mode."""
    mode = MODES[cell.params["mode"]]
    if mode is None:
        return function
    dynamic = cell.params.get("dynamic", False)
    return torch.compile(function, mode=mode, fullgraph=True, dynamic=dynamic)


def study(cell: Cell, ledger: Ledger, eager: Steps, steps: Steps) -> None:
    """Call the first step three times, then the others; state the memory after each, then measure.

    The eager steps run first: a driver loads kernels at their first launch.
    """
    with cell.phase("eager"):
        for step in eager.values():
            step()
    ledger.state("eager")
    empty(cell)
    reset_peaks(cell)
    first, *others = steps
    for phase in ("compile", "record", "replay"):
        before = ledger.outside()
        with cell.phase(phase):
            if phase == "compile" and cell.params.get("keep_code"):
                call_and_keep_code(cell, steps[first])
            else:
                steps[first]()
        if phase == "record":
            ledger.state_recording(before)
        ledger.state(phase)
    ledger.pool_after(first)
    with cell.phase("shape"):
        for name in others:
            for _ in range(3):
                steps[name]()
            ledger.pool_after(name)
    ledger.state("shape")
    ledger.state_peaks()
    timed = cell.params.get("timed", list(steps)) if cell.capture == "timing" else [first]
    for name in timed:
        cell.measure(name, steps[name])
    if cell.capture != "timing":
        with cell.phase("reset"):
            ledger.forget(steps)
        ledger.state("reset")


def call_and_keep_code(cell: Cell, step: Callable[[], object]) -> None:
    """Call a compiled step for the first time, keeping the code that Inductor generates for it."""
    from torch._inductor.utils import run_and_get_code

    _, sources = run_and_get_code(step)
    (cell.out / "output_code.py").write_text("\n".join(sources), encoding="utf-8")


def empty(cell: Cell) -> None:
    """Free the cached memory that is not in use."""
    gc.collect()
    cell.synchronize()
    if cell.device == "cuda":
        torch.cuda.empty_cache()


def reset_peaks(cell: Cell) -> None:
    """Reset the peak memory counters."""
    if cell.device == "cuda":
        torch.cuda.reset_peak_memory_stats()


WORKLOADS = {"stack": stack, "decoder": decoder, "chains": chains}

if __name__ == "__main__":
    main()
