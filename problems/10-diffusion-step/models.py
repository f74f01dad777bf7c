"""Denoisers, decoders and text encoders with random weights, and what a step of them is given."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import shapes
import torch
from torch import Tensor, nn

Inputs = dict[str, Any]
"""Keyword arguments of a denoiser: tensors, and dictionaries of tensors."""


@contextlib.contextmanager
def made_on(device: str, dtype: torch.dtype) -> Iterator[None]:
    """Make parameters on ``device`` in ``dtype`` at once, without a larger copy on the host."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def dtype_of(params: Mapping[str, Any]) -> torch.dtype:
    """Return the case's number format, bf16 if it names none."""
    return getattr(torch, params.get("dtype", "bfloat16"))


def denoiser(params: Mapping[str, Any], device: str) -> nn.Module:
    """Return the case's denoiser, its weights drawn from a fixed seed."""
    from diffusers import FluxTransformer2DModel, UNet2DConditionModel

    torch.manual_seed(0)
    with made_on(device, dtype_of(params)):
        if params["model"] in shapes.UNET:
            made = UNet2DConditionModel(**shapes.UNET[params["model"]])
        else:
            double, single = params["layers"]
            config = shapes.DIT[params["model"]]
            made = FluxTransformer2DModel(num_layers=double, num_single_layers=single, **config)
    return made.eval().requires_grad_(False)


def decoder(params: Mapping[str, Any], device: str) -> nn.Module:
    """Return the case's VAE."""
    from diffusers import AutoencoderKL, AutoencoderKLWan

    torch.manual_seed(1)
    kind = AutoencoderKLWan if params["vae"].startswith("wan") else AutoencoderKL
    with made_on(device, dtype_of(params)):
        made = kind(**shapes.VAE[params["vae"]])
    return made.eval().requires_grad_(False)


def text_encoders(params: Mapping[str, Any], device: str) -> tuple[nn.Module, nn.Module]:
    """Return both text encoders of SDXL."""
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(2)
    first, second = shapes.CLIP[params["model"]]
    with made_on(device, dtype_of(params)):
        pair = (
            CLIPTextModel(CLIPTextConfig(**first)),
            CLIPTextModelWithProjection(CLIPTextConfig(**second)),
        )
    for each in pair:
        each.eval().requires_grad_(False)
    return pair


def inputs(params: Mapping[str, Any], device: str, size: tuple[int, int] | None = None) -> Inputs:
    """Return what a step of the case's denoiser is given.

    ``size``: height and width of the image in pixels, the case's ``size`` if absent.
    """
    height, width = size or params["size"]
    torch.manual_seed(3)
    with made_on(device, dtype_of(params)):
        if params["model"] in shapes.UNET:
            return _unet_inputs(params, (height // 8, width // 8))
        return _dit_inputs(params, (height // 16, width // 16))


def _unet_inputs(params: Mapping[str, Any], latent: tuple[int, int]) -> Inputs:
    """Return latents of ``batch`` rows: with guidance two of an image, without and with prompt."""
    config, batch = shapes.UNET[params["model"]], params["batch"]
    sizes = 6 * config["addition_time_embed_dim"]
    pooled = config["projection_class_embeddings_input_dim"] - sizes
    return {
        "sample": torch.randn(batch, config["in_channels"], *latent),
        "timestep": torch.tensor(601.0, dtype=torch.float32),
        "encoder_hidden_states": torch.randn(batch, shapes.TOKENS, config["cross_attention_dim"]),
        "added_cond_kwargs": {
            "text_embeds": torch.randn(batch, pooled),
            "time_ids": torch.full((batch, 6), 1024.0),
        },
    }


def _dit_inputs(params: Mapping[str, Any], patches: tuple[int, int]) -> Inputs:
    """Return packed latents: a token for each patch of 16 × 16 pixels."""
    config, batch = shapes.DIT[params["model"]], params["batch"]
    rows, columns = patches
    ids = torch.zeros(rows, columns, 3)
    ids[..., 1] += torch.arange(rows)[:, None]
    ids[..., 2] += torch.arange(columns)[None, :]
    text = params.get("text_tokens", shapes.TEXT_TOKENS)
    return {
        "hidden_states": torch.randn(batch, rows * columns, config["in_channels"]),
        "timestep": torch.full((batch,), 0.6),
        "encoder_hidden_states": torch.randn(batch, text, config["joint_attention_dim"]),
        "pooled_projections": torch.randn(batch, config["pooled_projection_dim"]),
        "img_ids": ids.reshape(-1, 3),
        "txt_ids": torch.zeros(text, 3),
        "guidance": torch.full((batch,), 3.5),
    }


def latents(params: Mapping[str, Any], device: str, batch: int = 1) -> Tensor:
    """Return latents that the case's VAE decodes: of images, or of a video's frames."""
    torch.manual_seed(4)
    height, width = params["size"]
    with made_on(device, dtype_of(params)):
        if params["vae"].startswith("wan"):
            return torch.randn(batch, 16, params["frames"], height // 8, width // 8)
        scale = 2 ** (len(shapes.VAE[params["vae"]]["block_out_channels"]) - 1)
        return torch.randn(batch, 4, height // scale, width // scale)


def weight_bytes(*modules: nn.Module) -> int:
    """Return the bytes of the parameters."""
    return sum(weight.nbytes for module in modules for weight in module.parameters())


def mapped(given: Inputs, change: Any) -> Inputs:
    """Return the inputs with ``change`` applied to each tensor."""
    return {
        name: mapped(value, change) if isinstance(value, dict) else change(value)
        for name, value in given.items()
    }


def tensors(given: Inputs) -> list[Tensor]:
    """Return the tensors of the inputs, in order."""
    found: list[Tensor] = []
    for value in given.values():
        found += tensors(value) if isinstance(value, dict) else [value]
    return found
