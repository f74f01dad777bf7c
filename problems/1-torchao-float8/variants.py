"""The variants: how the linear layers' weights are stored and multiplied."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn


def quantise(model: nn.Module, scheme: str, *, tune: bool) -> None:
    """Replace every linear weight of ``model`` by torchao's tensor of ``scheme``, in place.

    ``tune``: let quantize_ set torchao's Inductor configuration for the whole process, its default.
    """
    if scheme == "none":
        return
    from torchao import quantization

    configurations: dict[str, Callable[..., Any]] = {
        "float8wo": quantization.Float8WeightOnlyConfig,
        "float8dq": partial(
            quantization.Float8DynamicActivationFloat8WeightConfig,
            granularity=quantization.PerRow(),
        ),
        "float8dq-tensor": partial(
            quantization.Float8DynamicActivationFloat8WeightConfig,
            granularity=quantization.PerTensor(),
        ),
        "int8wo": quantization.Int8WeightOnlyConfig,
        "int4wo": partial(
            quantization.Int4WeightOnlyConfig,
            group_size=128,
            int4_packing_format="tile_packed_to_4d",
        ),
    }
    quantization.quantize_(model, configurations[scheme](set_inductor_config=tune))


def tune_coordinates() -> None:
    """Set what torchao's quantize_ sets in Inductor, so that a bf16 control is compiled alike.

    Source: torchao.quantization.utils.recommended_inductor_config_setter, torchao 0.13.0.
    """
    inductor = torch._inductor.config
    inductor.coordinate_descent_tuning = True
    inductor.coordinate_descent_check_all_directions = True
    inductor.force_fuse_int_mm_with_mul = True
    inductor.fx_graph_cache = True
    inductor.triton.unique_kernel_names = True
    torch.set_float32_matmul_precision("high")


def emulate(fix: str) -> None:
    """Apply only one of the two upstream changes to torchao 0.13.0.

    broadcast-scale: pytorch/ao#2950, a per-row scale is broadcast instead of repeated to full size.
    decomposable: pytorch/ao#2961, dequantisation is plain torch code instead of an opaque operator.
    """
    from torchao.quantization import quant_primitives
    from torchao.quantization.quantize_.workflows.float8 import float8_tensor

    if fix == "broadcast-scale":

        def keep_scale(scale: torch.Tensor, _shape: torch.Size) -> torch.Tensor:
            return scale

        quant_primitives._expand_scale_to_tensor_shape = keep_scale
    elif fix == "decomposable":

        def dequantise(
            tensor: torch.Tensor, scale: torch.Tensor, output_dtype: torch.dtype = torch.float32
        ) -> torch.Tensor:
            wide = tensor.to(torch.float32)
            expanded = quant_primitives._expand_scale_to_tensor_shape(scale, tensor.shape)
            return (wide * expanded).to(output_dtype)

        float8_tensor._dequantize_affine_float8 = dequantise
    else:
        raise SystemExit(f"no upstream fix is called {fix!r}")


def stored_bytes(model: nn.Module, skip: tuple[str, ...] = ()) -> int:
    """Return the bytes of all distinct parameter storages, tensor subclasses taken apart."""
    seen: dict[int, int] = {}
    for name, parameter in model.named_parameters():
        if name.startswith(skip or ("\0",)):
            continue
        for tensor in _plain(parameter):
            storage = tensor.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())


def _plain(tensor: torch.Tensor) -> list[torch.Tensor]:
    data = tensor.data if isinstance(tensor, nn.Parameter) else tensor
    if hasattr(data, "__tensor_flatten__"):
        names, _ = data.__tensor_flatten__()
        return [leaf for name in names for leaf in _plain(getattr(data, name))]
    return [data]
