"""The variants: the weights' storage, and torch.compile's mode."""

import os
from typing import Any

import torch
from torch import nn

MODES: dict[str, str | None] = {
    "eager": None,
    "default": "default",
    "graphs": "reduce-overhead",
    "autotune": "max-autotune-no-cudagraphs",
    "autotune-graphs": "max-autotune",
}
"""From a variant's mode to torch.compile's."""


def prepare(params: dict[str, Any]) -> None:
    """Apply the settings that precede the first work on the device."""
    if "cublas_workspace" in params:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = params["cublas_workspace"]
    if not params.get("trees", True):
        torch._inductor.config.triton.cudagraph_trees = False


def quantise(model: nn.Module, scheme: str) -> None:
    """Replace every linear weight of ``model`` by torchao's tensor of ``scheme``, in place.

    torchao would switch coordinate descent on for everything compiled later; here the mode alone
    decides how it is compiled, so that a mode is the same for all weights.
    """
    if scheme == "none":
        return
    from torchao import quantization

    configurations: dict[str, Any] = {
        "float8wo": lambda: quantization.Float8WeightOnlyConfig(set_inductor_config=False),
        "float8dq": lambda: quantization.Float8DynamicActivationFloat8WeightConfig(
            granularity=quantization.PerTensor(), set_inductor_config=False
        ),
        "int8wo": lambda: quantization.Int8WeightOnlyConfig(set_inductor_config=False),
        "int4wo": lambda: quantization.Int4WeightOnlyConfig(
            group_size=128, int4_packing_format="tile_packed_to_4d", set_inductor_config=False
        ),
    }
    quantization.quantize_(model, configurations[scheme]())


def graphed(mode: str) -> bool:
    """Return whether a mode replays graphs."""
    return mode in ("graphs", "autotune-graphs", "manual-private", "manual-shared")
