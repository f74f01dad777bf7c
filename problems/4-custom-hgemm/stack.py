"""An end-to-end use: a stack of linear layers, torch's against those on hgemm."""

import copy

import torch
from alternating import wall_ratios
from hgemm import replace_linears
from torch import Tensor, nn

from harness.probe.cell import Cell


def stack(cell: Cell) -> None:
    """Run torch's layers or those on hgemm, eager or compiled, under the capture.

    Without a profiler, time them against torch's eager layers in this process as well: at the power
    cap two processes may run at different clocks.
    """
    width, layers, m = (cell.params[key] for key in ("width", "layers", "m"))
    cell.fact("flop", 2 * m * width * width * layers, "FLOP")
    cell.fact("weights", width * width * layers, "weights")
    with cell.phase("load"):
        eager = linears(width, layers).to(cell.device)
        x = torch.randn(m, width, device=cell.device).to(torch.bfloat16)
        model = copy.deepcopy(eager)
        if cell.params["contender"] == "best":
            replace_linears(model)
        exact = in_fp32(eager, x)
    if cell.params.get("compile"):
        model = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    with cell.phase("first"):
        cell.fact("error", relative(model(x), exact))
    cell.measure("forward", lambda: model(x))
    if cell.capture == "timing":
        with cell.exclusively("forward"):
            times = wall_ratios(
                lambda: model(x), lambda: eager(x), cell.params["turns"], cell.synchronize
            )
        cell.sample("forward", "wall_ratio", "×", times)


def linears(width: int, layers: int) -> nn.Sequential:
    """Return square layers without bias, whose random weights preserve the scale of their input."""
    model = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(layers)))
    for layer in model:
        nn.init.normal_(layer.weight, std=width**-0.5)
    return model.to(torch.bfloat16).eval().requires_grad_(False)


def in_fp32(model: nn.Sequential, x: Tensor) -> Tensor:
    """Return the model's output for ``x``, computed in fp32 throughout."""
    exact = x.float()
    for layer in model:
        exact = exact @ layer.weight.float().t()
    return exact


def relative(y: Tensor, exact: Tensor) -> float:
    """Return the relative error; a wrong output ends the process."""
    error: float = ((y.float() - exact).norm() / exact.norm()).item()
    if not error < 0.1:  # nor if it is not a number
        raise SystemExit(f"wrong output: relative error {error}")
    return error
