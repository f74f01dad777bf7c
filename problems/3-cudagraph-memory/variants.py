"""The variants: the weights' storage, and torch.compile's mode."""

import importlib
import os
from typing import Any

import torch
from torch import nn

MODES: dict[str, str | None] = {
    "eager": None,
    "default": "default",
    "graphs": "reduce-overhead",
}
"""From a variant's mode to torch.compile's."""


def prepare(params: dict[str, Any]) -> None:
    """Apply the settings that precede the first work on the device, and import what is needed."""
    if "cublas_workspace" in params:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = params["cublas_workspace"]
    if not params.get("trees", True):
        torch._inductor.config.triton.cudagraph_trees = False
    if params.get("coordinate_descent", False):
        torch._inductor.config.coordinate_descent_tuning = True
    if MODES.get(params["mode"]):
        importlib.import_module("torch._inductor.compile_fx")
    if params["quantise"] != "none":
        importlib.import_module("torchao.quantization")


def quantise(model: nn.Module, params: dict[str, Any]) -> None:
    """Replace the linear weights of ``model`` by torchao's tensors of the scheme, in place.

    ``keep_head``: a layer named "head" keeps its weight. ``all_directions``: torchao makes its own
    settings in Inductor, for everything that is compiled later; else it is kept from that.
    """
    if params["quantise"] == "none":
        return
    from torchao import quantization

    settings = {"set_inductor_config": params.get("all_directions", False)}
    configurations: dict[str, Any] = {
        "float8wo": lambda: quantization.Float8WeightOnlyConfig(**settings),
        "float8dq": lambda: quantization.Float8DynamicActivationFloat8WeightConfig(
            granularity=quantization.PerTensor(), **settings
        ),
        "int4wo": lambda: quantization.Int4WeightOnlyConfig(
            group_size=128, int4_packing_format="tile_packed_to_4d", **settings
        ),
    }
    kept = "head" if params.get("keep_head", False) else None
    quantization.quantize_(
        model,
        configurations[params["quantise"]](),
        filter_fn=lambda module, name: isinstance(module, nn.Linear) and name != kept,
    )
