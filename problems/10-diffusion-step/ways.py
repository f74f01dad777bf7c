"""Ways to run a denoiser: layout, fused projections, attention, guidance and compilation."""

import contextlib
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from models import Inputs, mapped
from torch import Tensor, nn

BACKENDS = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}
"""Names of torch.nn.attention.SDPBackend."""
REGIONS = (
    "BasicTransformerBlock",
    "ResnetBlock2D",
    "FluxTransformerBlock",
    "FluxSingleTransformerBlock",
)
"""Classes that ``compile: regions`` compiles; all but the residual blocks are diffusers' own."""
_KINDS = 64
"""Graphs that one function may have: a UNet's residual blocks have a dozen shapes, and dynamo keeps
eight by default before it runs the others eagerly."""

Step = Callable[[Inputs], Tensor]


@dataclass
class Way:
    """A denoiser that is ready to run: its module, and the step."""

    module: nn.Module
    step: Step


Known = dict[tuple[object, ...], nn.Module]
"""Modules by what was changed in them."""


def make(base: nn.Module, switches: Mapping[str, Any], known: Known | None = None) -> Way:
    """Return the base's denoiser under ``switches``, on a copy where they change the module.

    ``known``: copies made so far, of which one is taken if it has the same changes.
    """
    known = {} if known is None else known
    changes = tuple(switches.get(name) or None for name in ("layout", "fused", "compile"))
    if changes not in known:
        known[changes] = copy.deepcopy(base) if any(changes) else base
        prepare(known[changes], switches)
    module = known[changes]

    def step(given: Inputs) -> Tensor:
        with attention(switches.get("attention")):
            return module(**given, return_dict=False)[0]

    if switches.get("guidance") == "calls":
        return Way(module, lambda given: _in_two(step, given))
    return Way(module, step)


def prepare(module: nn.Module, switches: Mapping[str, Any]) -> None:
    """Change a denoiser as its switches say, in place."""
    if switches.get("layout") == "channels_last":
        module.to(memory_format=torch.channels_last)
    if switches.get("fused"):
        module.fuse_qkv_projections()
    compile_in_place(module, switches.get("compile"))


def compile_in_place(module: nn.Module, how: str | None) -> None:
    """Compile nothing, the repeated blocks, all regions of a UNet, or the whole denoiser."""
    if not how:
        return
    torch._dynamo.config.recompile_limit = _KINDS
    torch._dynamo.config.accumulated_recompile_limit = 8 * _KINDS
    if how == "whole":
        module.compile(dynamic=False)
    elif how == "blocks":
        module.compile_repeated_blocks(dynamic=False)
    elif how == "regions":
        for part in outermost(module, REGIONS):
            part.compile(dynamic=False)
    else:
        raise SystemExit(f"compile: {how} is no way (blocks, regions or whole)")


def outermost(module: nn.Module, classes: tuple[str, ...]) -> list[nn.Module]:
    """Return the parts of these classes that lie in no other of them."""
    found: list[nn.Module] = []
    for child in module.children():
        inside = [child] if type(child).__name__ in classes else outermost(child, classes)
        found += inside
    return found


def attention(backend: str | None) -> contextlib.AbstractContextManager[object]:
    """Let scaled_dot_product_attention use one backend alone; None: the one that torch takes."""
    if backend is None:
        return contextlib.nullcontext()
    kinds = torch.nn.attention.SDPBackend
    return torch.nn.attention.sdpa_kernel(getattr(kinds, BACKENDS[backend]))


def _in_two(step: Step, given: Inputs) -> Tensor:
    """Return what two calls of half of the rows make: without the prompt, then with it."""
    halves = [
        mapped(given, lambda one, at=at: one.chunk(2)[at] if one.dim() else one) for at in (0, 1)
    ]
    return torch.cat([step(half) for half in halves])


def graphs() -> int:
    """Return how many graphs dynamo has compiled in this process so far."""
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]
