"""A VAE's decoder by each way to run it: time, and memory at its peak, in turn in one process."""

import copy
import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import likeness
import models
import torch
import turns
from torch import Tensor, nn

from harness.probe.cell import Cell

Decode = Callable[[], Tensor]


def run(cell: Cell) -> None:
    """Compare the case's contenders, or record the variant's decoding."""
    with cell.phase("load"):
        base = models.decoder(cell.params, cell.device)
    if cell.capture != "timing":
        decode = decoder(base, cell.params, cell)
        with cell.phase("compile"):
            decode()
        cell.measure("decode", decode)
        return
    made: dict[str, Decode] = {}
    first: dict[int, Tensor] = {}
    for name, switches in cell.params["contenders"].items():
        made[name] = decoder(base, switches, cell)
        state(cell, name, made[name], first)
    with cell.exclusively():
        found = turns.alternated(made, cell.params["turns"], cell.synchronize)
    for name, metrics in found.items():
        cell.sample(f"{name}-decoded", "decode_ms", "ms", metrics["step_ms"])


def decoder(base: nn.Module, switches: Mapping[str, Any], cell: Cell) -> Decode:
    """Return a call that decodes ``batch`` latents under ``switches``."""
    given = models.latents(cell.params, cell.device, switches.get("batch", 1))
    vae = copy.deepcopy(base)
    prepare(vae, switches)
    return lambda: vae.decode(given, return_dict=False)[0]


def prepare(vae: nn.Module, switches: Mapping[str, Any]) -> None:
    """Change a VAE as its switches say, in place."""
    if switches.get("vae_layout"):
        kind = {nn.Conv2d: torch.channels_last, nn.Conv3d: torch.channels_last_3d}
        for part in vae.modules():
            if type(part) in kind:
                part.to(memory_format=kind[type(part)])
    if switches.get("tiled"):
        vae.enable_tiling()
        vae.tile_sample_min_size //= 2
        vae.tile_latent_min_size //= 2
    if switches.get("sliced"):
        vae.enable_slicing()
    if switches.get("vae_compile"):
        torch._dynamo.config.recompile_limit = 64
        vae.decoder.compile(dynamic=False, mode=switches["vae_compile"])


def state(cell: Cell, name: str, decode: Decode, first: dict[int, Tensor]) -> None:
    """State a contender's seconds and bytes at its first call, and its peak once it is warm.

    The peak counts what tensors take beyond what is there before the call, and what the allocator
    keeps for the contender between calls: the pool of its CUDA graph.
    """
    before, reserved = held(cell), reserved_bytes(cell)
    begun = time.perf_counter()
    with cell.phase(f"compile-{name}"):
        decode()
    cell.fact(f"first_s.{name}-decoded", time.perf_counter() - begun, "s")
    cell.fact(f"first_gb.{name}-decoded", (peak_bytes(cell) - before) / 1e9, "GB")
    with cell.phase(f"warmup-{name}"):
        decode()
        decode()
    before, kept = held(cell), reserved_bytes(cell) - reserved
    output = decode()
    cell.synchronize()
    cell.fact(f"peak_gb.{name}-decoded", (kept + peak_bytes(cell) - before) / 1e9, "GB")
    cell.fact(f"reserved_gb.{name}-decoded", (reserved_bytes(cell) - reserved) / 1e9, "GB")
    wanted = first.setdefault(len(output), output.clone())
    cell.fact(f"psnr.{name}-decoded", likeness.psnr_db(output, wanted), "dB")
    cell.fact(f"cosine.{name}-decoded", likeness.cosine(output, wanted))


def held(cell: Cell) -> int:
    """Free what is cached, begin a new peak, and return the bytes that tensors keep."""
    gc.collect()
    cell.synchronize()
    if cell.device != "cuda":
        return 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak_bytes(cell: Cell) -> int:
    """Return the most bytes that tensors took since ``held``; 0 on a CPU."""
    return torch.cuda.max_memory_allocated() if cell.device == "cuda" else 0


def reserved_bytes(cell: Cell) -> int:
    """Return the bytes that the allocator holds; 0 on a CPU."""
    return torch.cuda.memory_reserved() if cell.device == "cuda" else 0
