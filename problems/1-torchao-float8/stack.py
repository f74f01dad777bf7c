"""Eight square linears in a row: what a weight costs, without the other layers of a model."""

from collections.abc import Callable

import torch
from cuda_graph import captured
from footprint import in_place, reset_peaks, state_peaks, state_size
from torch import Tensor, nn
from variants import quantise

from harness.probe.cell import Cell

EXTERN_CALL = "torchao.dequantize_affine_float8.default("


def stack(cell: Cell) -> None:
    """Run the stack as the variant says: eager, compiled, or compiled and in a CUDA graph.

    Under ncu it is one linear.
    """
    width, layers, m = (cell.params[key] for key in ("width", "layers", "m"))
    if cell.capture == "ncu":
        layers = 1  # all are alike, and ncu runs each kernel many times
    with cell.phase("load"):
        linears = [nn.Linear(width, width, bias=False, dtype=torch.bfloat16) for _ in range(layers)]
        model = nn.Sequential(*linears).to(cell.device).eval().requires_grad_(False)
        x = torch.randn(m, width, dtype=torch.bfloat16, device=cell.device)
    with cell.phase("quantise"):
        reference = model(x).float()
        quantise(model, cell.params["quantise"], tune=cell.params.get("tune", True))
        in_place(cell)
    state_size(cell, model)
    step: Callable[[], Tensor] = lambda: model(x)  # noqa: E731 - the step is rebound below
    if cell.params["compile"]:
        step = compiled(cell, model, x)
    with cell.phase("first"):
        error = (step().float() - reference).norm() / reference.norm()
    if cell.params.get("graph") == "captured":
        with cell.phase("capture"):
            step = captured(step)
    cell.fact("relative_error", error.item(), "")
    reset_peaks(cell)
    cell.measure("forward", step)
    state_peaks(cell)


def compiled(cell: Cell, model: nn.Module, x: Tensor) -> Callable[[], Tensor]:
    """Compile the stack, keeping Inductor's output code and the extern calls in it."""
    from torch._inductor.utils import run_and_get_code

    mode = "reduce-overhead" if cell.params.get("graph") == "reduce-overhead" else None
    fast = torch.compile(model, fullgraph=True, dynamic=False, mode=mode)
    with cell.phase("compile"):
        _, sources = run_and_get_code(fast, x)
    code = "\n".join(sources)
    (cell.out / "output_code.py").write_text(code, encoding="utf-8")
    body = [line for line in code.splitlines() if not line.lstrip().startswith("#")]
    cell.fact("extern_dequantise_calls", sum(EXTERN_CALL in line for line in body), "calls")
    cell.fact("extern_matmul_calls", sum("extern_kernels.mm(" in line for line in body), "calls")
    return lambda: fast(x)
