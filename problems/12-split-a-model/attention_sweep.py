"""Ring attention and Ulysses by length: where one overtakes the other, measured and predicted."""

from functools import partial
from statistics import median
from typing import Any

import law
import torch
from counted import ops_of
from link import Link
from model import SHAPES, dtype_on, seeded
from sequence_ways import by_heads, ring_attention
from way import Comm
from world import World

_SEED = 31


def run(cell: Any, world: World, known: Link) -> None:
    """Time attention alone, split both ways, at each length; state both crossovers."""
    about = cell.params["sweep"]
    shape, lengths = SHAPES[about["model"]], about["lengths"]
    found: dict[str, dict[str, list[float]]] = {
        name: {"measured": [], "predicted": []} for name in ("ring", "ulysses")
    }
    for length in lengths:
        own = length // world.size
        sizes = [(1, heads, own, shape.head) for heads in (shape.heads, *[shape.kv_heads] * 2)]
        generator = seeded(_SEED + world.rank, world.device)
        given = [
            torch.empty(size, dtype=dtype_on(world.device), device=world.device).normal_(
                generator=generator
            )
            for size in sizes
        ]
        region = f"attention-{length}"
        with torch.no_grad(), cell.exclusively(region):
            for name, attend in (("ring", ring_attention), ("ulysses", by_heads)):
                step, alone = (
                    partial(attend, *given, Comm(world, mesh)) for mesh in (world.mesh, world.muted)
                )
                ops = ops_of(step, world.size)
                turns = [
                    (world.timed(step, about["steps"]), world.timed(alone, about["steps"]))
                    for _ in range(about["turns"] + 1)
                ][1:]
                split, part = (list(each) for each in zip(*turns, strict=True))
                comm_us = sum(known.us(kind, size) for kind, size in ops)
                beside = (world.size - 1) / world.size if name == "ring" else 0.0
                expected = law.step_ms(
                    median(part), comm_us, law.Overlap(beside, loss=known.loss(ops))
                )
                cell.sample(region, f"{name}_ms", "ms", split)
                cell.sample(region, f"{name}_predicted_ms", "ms", [expected])
                found[name]["measured"].append(median(split))
                found[name]["predicted"].append(expected)
        ratio = found["ring"]["measured"][-1] / found["ulysses"]["measured"][-1]
        cell.sample(region, "ring_over_ulysses", "×", [ratio])
    at = {
        how: law.crossover(lengths, found["ring"][how], found["ulysses"][how])
        for how in ("measured", "predicted")
    }
    state_crossover(cell, "crossover", "tokens", at)


def state_crossover(cell: Any, name: str, unit: str, at: dict[str, float | None]) -> None:
    """State the place from which one way is the faster, measured and predicted, if there is one."""
    for how, place in at.items():
        if place is not None:
            cell.fact(f"{name}_{how}", place, unit)
    if at["measured"] and at["predicted"]:
        error = 100 * abs(at["predicted"] / at["measured"] - 1)
        cell.fact(f"{name}_error", error, "%")
