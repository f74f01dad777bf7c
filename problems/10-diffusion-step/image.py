"""An image from prompt to pixels by the pipeline that users call: time, and memory at its peak."""

import gc
import time
from typing import Any

import decoding
import likeness
import models
import shapes
import torch
import ways
from graphs import Captured
from streamed import Streamed, blocks_of, layers_of, to_device_gb_s
from torch import Tensor

from harness.probe.cell import Cell

_PROFILED = 2
"""Steps of an image under a profiler, which notes each allocation."""


def run(cell: Cell) -> None:
    """Make the default's image, apply the variant's switches, and make the image again."""
    with cell.phase("load"):
        pipe = pipeline(cell)
        prompt = token_ids(cell)
    pipe.to(cell.device)
    if cell.capture != "timing":
        profile(cell, pipe, prompt)
        return
    with cell.phase("reference"):
        wanted = image(pipe, prompt, cell)
    with cell.phase("switch"):
        copied = apply(pipe, cell)
    with cell.phase("compile"):
        image(pipe, prompt, cell)
    reset(cell)
    output, times = wanted, []
    with cell.exclusively():
        for _ in range(cell.params["images"]):
            begun = time.perf_counter()
            output = image(pipe, prompt, cell)
            cell.synchronize()
            times.append(time.perf_counter() - begun)
    cell.sample("image", "image_s", "s", times)
    cell.sample("image", "images_per_min", "images/min", [60 / seconds for seconds in times])
    if cell.device == "cuda":
        cell.fact("peak_gb", torch.cuda.max_memory_allocated() / 1e9, "GB")
        cell.fact("reserved_gb", torch.cuda.max_memory_reserved() / 1e9, "GB")
        link = to_device_gb_s(cell.device)
        cell.fact("copy_s", copied / link / 1e9, "s")
    cell.fact("copied_gb", copied / 1e9, "GB")
    cell.fact("psnr", likeness.psnr_db(output, wanted), "dB")
    cell.fact("cosine", likeness.cosine(output, wanted))


def profile(cell: Cell, pipe: Any, prompt: Tensor) -> None:
    """Record an image of a few steps: memory's peak is that of one step, or the VAE's."""
    cell.params["steps"] = _PROFILED
    with cell.phase("switch"):
        apply(pipe, cell)
    cell.measure("image", lambda: image(pipe, prompt, cell))


def pipeline(cell: Cell) -> Any:
    """Return SDXL's pipeline on random weights; its tokenizers, which need the hub, are absent."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline

    first, second = models.text_encoders(cell.params, cell.device)
    pipe = StableDiffusionXLPipeline(
        vae=models.decoder(cell.params, cell.device),
        text_encoder=first,
        text_encoder_2=second,
        tokenizer=None,
        tokenizer_2=None,
        unet=models.denoiser(cell.params, cell.device),
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear", timestep_spacing="leading"),
        add_watermarker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def token_ids(cell: Cell) -> Tensor:
    """Return the tokens of an empty prompt and of a prompt, as a tokenizer would."""
    torch.manual_seed(5)
    return torch.randint(40000, (2, shapes.TOKENS), device=cell.device)


def encoded(pipe: Any, prompt: Tensor) -> tuple[Tensor, Tensor]:
    """Return both encoders' last but one hidden states, joined, and the second's pooled output."""
    states = [
        encoder(prompt, output_hidden_states=True)
        for encoder in (pipe.text_encoder, pipe.text_encoder_2)
    ]
    return torch.cat([each.hidden_states[-2] for each in states], -1), states[1][0]


def image(pipe: Any, prompt: Tensor, cell: Cell) -> Tensor:
    """Return the image of the prompt, from the same noise each time."""
    height, width = cell.params["size"]
    noise = torch.Generator("cpu").manual_seed(6)
    states, pooled = encoded(pipe, prompt)
    without, with_prompt = states.chunk(2)
    return pipe(
        prompt_embeds=with_prompt,
        negative_prompt_embeds=without,
        pooled_prompt_embeds=pooled[1:],
        negative_pooled_prompt_embeds=pooled[:1],
        height=height,
        width=width,
        num_inference_steps=cell.params["steps"],
        guidance_scale=5.0,
        generator=noise,
        output_type="pt",
    ).images


def apply(pipe: Any, cell: Cell) -> int:
    """Apply the variant's switches; return the bytes that an image's copies take to the device."""
    params, unet = cell.params, pipe.unet
    ways.prepare(unet, params)
    if params.get("graph"):
        unet.forward = Replayed(unet.forward)
    decoding.prepare(pipe.vae, params)
    return placed(pipe, cell)


def placed(pipe: Any, cell: Cell) -> int:
    """Move weights to the host where the variant lets them wait there."""
    how = cell.params.get("offload")
    steps = cell.params["steps"]
    if how == "model":
        pipe.enable_model_cpu_offload(device=cell.device)
        parts = (pipe.text_encoder, pipe.text_encoder_2, pipe.unet, pipe.vae)
        return models.weight_bytes(*parts)
    if how == "sequential":
        whole = models.weight_bytes(pipe.unet)
        pipe.enable_sequential_cpu_offload(device=cell.device)
        return steps * whole
    if how == "streamed":
        share = cell.params["share"]
        weights = Streamed(blocks_of(pipe.unet, share), cell.device)
        once = [
            Streamed(layers_of(encoder), cell.device)
            for encoder in (pipe.text_encoder, pipe.text_encoder_2)
        ]
        return steps * weights.bytes + sum(each.bytes for each in once)
    return 0


class Replayed:
    """A denoiser's forward that replays a CUDA graph, captured at its first call."""

    def __init__(self, forward: Any) -> None:
        self._forward, self._captured = forward, None

    def __call__(self, sample: Tensor, timestep: Tensor, **given: Any) -> tuple[Tensor]:
        """Return the output as the pipeline takes it."""
        tensors = {
            "sample": sample,
            "timestep": timestep,
            "encoder_hidden_states": given["encoder_hidden_states"],
            "added_cond_kwargs": given["added_cond_kwargs"],
        }
        if self._captured is None:
            step = self._forward
            self._captured = Captured(lambda now: step(**now, return_dict=False)[0], tensors)
        return (self._captured(tensors),)


def reset(cell: Cell) -> None:
    """Free what set-up has cached, and begin a new peak."""
    gc.collect()
    if cell.device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
