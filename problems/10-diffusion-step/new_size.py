"""What images of new sizes cost a compiled denoiser: static, as torch decides, and dynamic."""

import copy
import time

import models
import torch
import ways
from graphs import device_ms
from models import Inputs
from torch import nn

from harness.probe.cell import Cell

_DYNAMIC = {"static": False, "automatic": None, "dynamic": True, "marked": None}
"""The argument ``dynamic`` of torch.compile."""
_TOKENS = {"hidden_states": 1, "img_ids": 0}
"""The dimension of each input that grows with the image."""


def run(cell: Cell) -> None:
    """For each way, compile at the first size, then call at the others."""
    with cell.phase("load"):
        base = models.denoiser(cell.params, cell.device)
    for name in cell.params["ways"]:
        torch.compiler.reset()
        module = copy.deepcopy(base)
        # On a CPU dynamo's graphs alone are counted: generating code for them takes minutes.
        module.compile(dynamic=_DYNAMIC[name], backend=cell.params.get("backend", "inductor"))
        compiled(cell, name, module)
    cell.sample("eager", "gpu_ms", "ms", [step_ms(cell, base)])


def compiled(cell: Cell, name: str, module: nn.Module) -> None:
    """State graphs and seconds of each size's first call, and sample the first size's step."""
    start, at_first = ways.graphs(), 0
    later = 0.0
    for at, size in enumerate(cell.params["sizes"]):
        given = models.inputs(cell.params, cell.device, tuple(size))
        if name == "marked":
            mark(given)
        begun = time.perf_counter()
        with cell.phase(f"{name}-{size[0]}x{size[1]}"):
            module(**given, return_dict=False)
        seconds = time.perf_counter() - begun
        if at == 0:
            at_first = ways.graphs() - start
            cell.fact(f"first_s.{name}", seconds, "s")
        else:
            later += seconds
    cell.fact(f"graphs.{name}", at_first)
    cell.fact(f"new_graphs.{name}", ways.graphs() - start - at_first)
    cell.fact(f"later_s.{name}", later, "s")
    cell.sample(name, "gpu_ms", "ms", [step_ms(cell, module, marked=name == "marked")])


def mark(given: Inputs) -> None:
    """Tell dynamo which dimension grows with the image."""
    for name, dimension in _TOKENS.items():
        torch._dynamo.mark_dynamic(given[name], dimension)


def step_ms(cell: Cell, module: nn.Module, *, marked: bool = False) -> float:
    """Return the device's ms of a step at the first size."""
    given = models.inputs(cell.params, cell.device, tuple(cell.params["sizes"][0]))
    if marked:
        mark(given)
    with cell.exclusively():
        return device_ms(lambda: module(**given, return_dict=False)[0], cell.device, 2)
