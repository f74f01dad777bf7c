"""GemLite's autotuners, which are Triton's: set up, compiled ahead, tuned, and read."""

import contextlib
import importlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from selection import KERNELS, kernel_for

Call = Callable[[], object]


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


def compiled(call: Call, tuner: Any) -> float:
    """Compile every candidate by calling it once, untimed; return the seconds.

    So that choosing afterwards only measures: it has the GPU to itself. Which candidate the tuner
    holds then means nothing.
    """
    start = time.perf_counter()
    with _once_each(tuner):
        call()
        torch.cuda.synchronize()
    return time.perf_counter() - start


def tuned(call: Call, tuner: Any) -> None:
    """Let the tuner choose anew."""
    tuner.cache.clear()
    call()
    torch.cuda.synchronize()


def candidates(tuner: Any) -> list[Any]:
    """Return the configurations that the tuner tried last and could run; none if it has but one."""
    timings = getattr(tuner, "configs_timings", {})
    return [config for config, times in timings.items() if math.isfinite(times[0])]


def ran(tuner: Any) -> dict[str, Any]:
    """Return the configuration of this kernel's last launch; exits if there was none."""
    last = getattr(tuner, "best_config", None)
    if last is None:
        raise SystemExit(f"GemLite did not launch {tuner.base_fn.__name__}")
    config: dict[str, Any] = last.all_kwargs()
    return config


def without_copies(tuner: Any) -> None:
    """Let the tuner time the kernel alone, as if it had no ``restore_value``.

    The copies of the whole weight are made by these two hooks, inside the timed call. The output
    of the call that tunes is lost: every candidate adds into it.
    """
    tuner.pre_hook = lambda kwargs, reset_only=False: None  # noqa: ARG005 - Triton's names
    tuner.post_hook = lambda kwargs, exception: None  # noqa: ARG005


@contextlib.contextmanager
def _once_each(tuner: Any) -> Iterator[None]:
    """Let the tuner call each candidate once instead of timing it."""

    def once(call: Call, quantiles: Any) -> list[float]:  # noqa: ARG001 - Triton's name
        call()
        return [0.0, 0.0, 0.0]

    vars(tuner)["do_bench"] = once  # a cached property of Triton's
    try:
        yield
    finally:
        del vars(tuner)["do_bench"]
