"""Images of many sizes: the encoder's shapes, tokens, padding, operators, and compiling."""

import random
import time
from collections.abc import Callable
from typing import Any

import counts
import models
import plans
import torch
from encoding import block_of, plan_of
from torch._dynamo.utils import counters
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

from harness.probe.cell import Cell

_FACTOR = 28
"""Pixels on each side of a token."""
_SEED = 11


def run(cell: Cell) -> None:
    """State the shapes of each policy, then compile a block over images of several sizes."""
    params = cell.params
    drawn = _sizes(params["images"])
    policies: dict[str, Callable[[int, int], tuple[int, int]]] = {
        "as-they-come": lambda high, wide: resized(high, wide, params["longest_edge"]),
        "buckets": lambda high, wide: bucket(high, wide, params["longest_edge"]),
    }
    exact = 0
    for name, policy in policies.items():
        grids = [grid_of(*policy(*size)) for size in drawn]
        tokens = sum(map(plans.tokens, grids))
        exact = exact or tokens
        padded = [plans.slots(plans.window_lengths(grid)).padded for grid in grids]
        cell.fact(f"shapes.{name}", len(set(grids)))
        cell.fact(f"tokens.{name}", tokens / len(grids))
        cell.fact(f"more_tokens.{name}", 100 * (tokens / exact - 1), "%")
        cell.fact(f"padded.{name}", 100 * sum(padded) / len(padded), "%")
    few = list(dict.fromkeys(grid_of(*policies["as-they-come"](*size)) for size in drawn))
    _compiled(cell, few[: params["compiled_sizes"]])


def _sizes(count: int) -> list[tuple[int, int]]:
    """Return heights and widths: cropped, scaled photographs between 0.3 and 4 megapixels."""
    drawn = random.Random(_SEED)  # noqa: S311 - no secrets
    found = []
    for _ in range(count):
        pixels, ratio = drawn.uniform(0.3e6, 4e6), drawn.choice((3 / 4, 2 / 3, 9 / 16, 1.0))
        ratio *= drawn.uniform(0.9, 1.1)
        wide = round((pixels / ratio) ** 0.5)
        high = round(wide * ratio)
        found.append((high, wide) if drawn.random() < 0.7 else (wide, high))
    return found


def resized(high: int, wide: int, longest_edge: int) -> tuple[int, int]:
    """Return the size that Qwen2.5-VL's processor gives an image."""
    found: tuple[int, int] = smart_resize(
        high, wide, factor=_FACTOR, min_pixels=56 * 56, max_pixels=longest_edge
    )
    return found


def bucket(high: int, wide: int, longest_edge: int) -> tuple[int, int]:
    """Return that size with both sides rounded to whole windows of 112 pixels, at least one."""
    step = _FACTOR * plans.WINDOW
    found = resized(high, wide, longest_edge)
    rounded = [max(step, round(side / step) * step) for side in found]
    return rounded[0], rounded[1]


def grid_of(high: int, wide: int) -> plans.Grid:
    """Return the patches of an image of that size."""
    side = _FACTOR // plans.MERGE
    return 1, high // side, wide // side


def _compiled(cell: Cell, grids: list[plans.Grid]) -> None:
    """State how often a block is compiled over these grids, and how long the first calls took."""
    dtype = torch.bfloat16 if cell.device == "cuda" else torch.float32
    with cell.phase("load"):
        visual = models.model(cell.params["model"], cell.device, dtype).model.visual
    for name, count in counts.of_encoder(visual, dtype).items():
        cell.fact(name, count)
    modes: dict[str, Any] = {"static": False, "automatic": None, "dynamic": True}
    for name, dynamic in modes.items():
        torch._dynamo.reset()
        counters.clear()
        made = torch.compile(block_of, dynamic=dynamic, backend=cell.params["backend"])
        with cell.phase(name):
            begun = time.perf_counter()
            for grid in grids:
                plan = plan_of(visual, (grid,))
                hidden = torch.zeros(len(plan.order), visual.config.hidden_size).to(plan.cos)
                for block in visual.blocks[:2]:
                    made(block, block.mlp, hidden.to(dtype), plan.cos, plan.sin, *plan.windows)
            cell.synchronize()
        cell.fact(f"compiles.{name}", counters["stats"]["unique_graphs"])
        cell.fact(f"compile_s.{name}", time.perf_counter() - begun, "s")
