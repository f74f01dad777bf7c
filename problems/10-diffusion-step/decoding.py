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
    made = {
        name: prepared(cell, name, base, switches)
        for name, switches in cell.params["contenders"].items()
    }
    first: dict[int, Tensor] = {}
    for name, decode in made.items():
        state(cell, name, decode, first)
    with cell.exclusively():
        found = turns.alternated(made, cell.params["turns"], cell.synchronize)
    for name, metrics in found.items():
        cell.sample(f"{name}-decoded", "decode_ms", "ms", metrics["step_ms"])


def prepared(cell: Cell, name: str, base: nn.Module, switches: Mapping[str, Any]) -> Decode:
    """Return a contender after its first call; state what that cost in seconds and bytes."""
    decode = decoder(base, switches, cell)
    before = held(cell)
    begun = time.perf_counter()
    with cell.phase(f"compile-{name}"):
        decode()
    cell.fact(f"first_s.{name}-decoded", time.perf_counter() - begun, "s")
    cell.fact(f"first_gb.{name}-decoded", (peak(cell) - before) / 1e9, "GB")
    return decode


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
    """State a contender's peak once it is warm, and how far its output is from the first's."""
    decode()
    before = held(cell)
    output = decode()
    cell.fact(f"peak_gb.{name}-decoded", (peak(cell) - before) / 1e9, "GB")
    cell.fact(f"reserved_gb.{name}-decoded", (reserved(cell) - before) / 1e9, "GB")
    wanted = first.setdefault(len(output), output.clone())
    cell.fact(f"psnr.{name}-decoded", likeness.psnr_db(output, wanted), "dB")
    cell.fact(f"cosine.{name}-decoded", likeness.cosine(output, wanted))


def held(cell: Cell) -> int:
    """Free what is cached, begin a new peak, and return the bytes that stay."""
    gc.collect()
    cell.synchronize()
    if cell.device != "cuda":
        return 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak(cell: Cell) -> int:
    """Return the most bytes that tensors took since ``held``; 0 on a CPU."""
    return torch.cuda.max_memory_allocated() if cell.device == "cuda" else 0


def reserved(cell: Cell) -> int:
    """Return the most bytes that the allocator held since ``held``; 0 on a CPU."""
    return torch.cuda.max_memory_reserved() if cell.device == "cuda" else 0
