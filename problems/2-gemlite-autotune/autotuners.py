"""GemLite's autotuners, which are Triton's: set up, called once, and read."""

import importlib
import time
from typing import Any

import torch
from layers import Layer, activations
from selection import KERNELS, kernel_for


def ready(mode: str) -> Any:
    """Return GemLite in tuning mode ``mode``, without the configurations that it ships."""
    import gemlite

    gemlite.set_autotune(mode)  # reloads the kernels' modules, so it comes first
    gemlite.reset_config()
    return gemlite


def autotuner(m: int, bits: int) -> Any:
    """Return the autotuner of the kernel that ``m`` rows get."""
    module, name = KERNELS[kernel_for(m, bits)]
    return getattr(importlib.import_module(f"gemlite.triton_kernels.{module}"), name)


def first_call(layer: Layer, m: int, k: int, bits: int) -> dict[str, Any]:
    """Call the layer with ``m`` rows; return the seconds, and what it tuned."""
    tuner, x = autotuner(m, bits), activations(m, k, "cuda")
    cached = set(tuner.cache)
    torch.cuda.synchronize()
    start = time.perf_counter()
    layer.forward(x)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    new = set(tuner.cache) - cached
    return {
        "seconds": seconds,
        "bench_seconds": tuner.bench_time if new else 0.0,
        "configurations": len(tuner.configs_timings) if new else 0,
        "config": ran(tuner),
    }


def ran(tuner: Any) -> dict[str, Any]:
    """Return the configuration of this kernel's last launch; exits if there was none."""
    last = getattr(tuner, "best_config", None)
    if last is None:
        raise SystemExit(f"GemLite did not launch {tuner.base_fn.__name__}")
    tuner.best_config = None
    config: dict[str, Any] = last.all_kwargs()
    return config


def without_copies(tuner: Any) -> None:
    """Let the tuner time the kernel alone, as if it had no ``restore_value``; its output is lost.

    The copies of the whole weight are made by these two hooks, inside the timed call.
    """
    tuner.pre_hook = lambda kwargs, reset_only=False: None  # noqa: ARG005 - Triton's names
    tuner.post_hook = lambda kwargs, exception: None  # noqa: ARG005
