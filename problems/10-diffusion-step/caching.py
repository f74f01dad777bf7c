"""Steps whose blocks are skipped, and as many steps fewer, against the whole trajectory."""

import time
from collections.abc import Callable

import likeness
import models
import torch
from torch import Tensor, nn

from harness.probe.cell import Cell

Trajectory = Callable[[int], Tensor]


def run(cell: Cell) -> None:
    """State, for each threshold, time and distance to the reference; and for fewer steps."""
    with cell.phase("load"):
        module = models.denoiser(cell.params, cell.device)
        given = models.inputs(cell.params, cell.device)
    calls = Calls(module)
    steps = cell.params["steps"]

    def trajectory(count: int) -> Tensor:
        return integrate(module, given, count)

    with cell.phase("warmup"):
        reference = trajectory(steps)
    timed(cell, "all", trajectory, steps, reference)
    computed: list[int] = []
    for threshold in cell.params["thresholds"]:
        name = f"below-{threshold}"
        with cached(module, threshold):
            trajectory(steps)
        before = calls.count
        with cached(module, threshold):
            trajectory(steps)
        computed.append(calls.count - before)
        cell.fact(f"computed.{name}", computed[-1])
        with cached(module, threshold):
            timed(cell, name, trajectory, steps, reference)
    for count in sorted(set(computed)):
        timed(cell, f"steps-{count}", trajectory, count, reference)
        cell.fact(f"computed.steps-{count}", count)


class Calls:
    """Counts how often a denoiser's last block computes."""

    def __init__(self, module: nn.Module) -> None:
        self.count = 0
        last = module.single_transformer_blocks[-1]
        last.norm.register_forward_hook(self._note)

    def _note(self, *_: object) -> None:
        self.count += 1


class cached:  # noqa: N801 - used as a context
    """Skip all blocks after the first where its residual changed by less than ``threshold``."""

    def __init__(self, module: nn.Module, threshold: float) -> None:
        from diffusers import FirstBlockCacheConfig

        self._module, self._config = module, FirstBlockCacheConfig(threshold=threshold)

    def __enter__(self) -> None:
        self._module.enable_cache(self._config)
        self._context = self._module.cache_context("image")
        self._context.__enter__()

    def __exit__(self, *reason: object) -> None:
        self._context.__exit__(*reason)
        self._module.disable_cache()


def integrate(module: nn.Module, given: models.Inputs, count: int) -> Tensor:
    """Return the latents after ``count`` steps of Euler's method, from noise (1) to image (0)."""
    latents = given["hidden_states"].clone()
    for at in range(count):
        time_left = torch.full_like(given["timestep"], 1 - at / count)
        now = {**given, "hidden_states": latents, "timestep": time_left}
        latents = latents - module(**now, return_dict=False)[0] / count
    return latents


def timed(cell: Cell, name: str, work: Trajectory, count: int, reference: Tensor) -> None:
    """Sample a trajectory's ms, and state how near it comes to the reference."""
    with cell.exclusively(name):
        begun = time.perf_counter()
        output = work(count)
        cell.synchronize()
        taken = (time.perf_counter() - begun) * 1e3
    cell.sample(name, "trajectory_ms", "ms", [taken])
    cell.fact(f"psnr.{name}", likeness.psnr_db(output, reference), "dB")
    cell.fact(f"cosine.{name}", likeness.cosine(output, reference))
