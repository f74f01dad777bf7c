"""Engines of a variant: its switches, over one model's weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from workloads.engine.capture import capture
from workloads.engine.model import SHAPES, Shape, Weights, random_weights
from workloads.engine.options import Options
from workloads.engine.runner import Runner
from workloads.engine.serve import Engine, Stepped, build

SWITCHES = tuple(field.name for field in dataclasses.fields(Options))


def shape(params: Mapping[str, Any]) -> Shape:
    """Return the case's model; ``layers``: only so many of them."""
    whole = SHAPES[params["shape"]]
    return dataclasses.replace(whole, layers=params.get("layers", whole.layers))


def weights(params: Mapping[str, Any], device: str) -> Weights:
    """Return random weights in the case's number format, bf16 if it names none."""
    dtype = getattr(torch, params.get("dtype", "bfloat16"))
    return random_weights(shape(params), params["most_tokens"], device, dtype)


def options(params: Mapping[str, Any]) -> Options:
    """Return the switches that variant and case name; the engine's defaults for the others.

    ``graphs: false`` captures no batch size as a CUDA graph.
    """
    given = {name: params[name] for name in SWITCHES if name in params}
    if not params.get("graphs", True):
        given["graph_batches"] = ()
    elif "graph_batches" in given:
        given["graph_batches"] = tuple(given["graph_batches"])
    return Options(**given)


def runner(of: Weights, params: Mapping[str, Any], switches: Options) -> Runner:
    """Return a runner with its decode steps captured."""
    host_blocks = params.get("host_blocks", 0) if switches.offload else 0
    made = Runner(of, switches, params["blocks"], params["most_tokens"], host_blocks)
    capture(made)
    return made


def engine(on: Runner, params: Mapping[str, Any]) -> "Watched":
    """Return an engine with an empty cache."""
    host_blocks = params.get("host_blocks", 0) if on.options.offload else 0
    return Watched(build(on, on.options, params["blocks"], host_blocks))


class Watched:
    """An engine that notes what its steps were.

    ``records``: the engine's own; ``unused``: the share of held slots of the cache without a token,
    after each step.
    """

    def __init__(self, of: Engine) -> None:
        self.engine = of
        self.records: list[Mapping[str, Any]] = []
        self.unused: list[float] = []

    @property
    def busy(self) -> bool:
        """Say whether another step would do anything."""
        return self.engine.busy

    def submit(self, name: str, prompt: Sequence[int], most_new: int) -> None:
        """Let a request wait for its turn."""
        self.engine.submit(name, prompt, most_new)

    def step(self) -> Stepped:
        """Make a step."""
        stepped = self.engine.step()
        self.records.append(stepped.record)
        running = self.engine.scheduler.running
        held = sum(len(request.blocks) for request in running) * self.engine.runner.options.block
        if held:
            self.unused.append(1 - sum(request.computed for request in running) / held)
        return stepped

    def padded(self) -> float | None:
        """Return the share of rows of decode steps in graphs that were padding; None without."""
        buckets = sorted(self.engine.runner.graphs)
        rows = [record["requests"] for record in self.records if record["kind"] == "decode"]
        sizes = [next((size for size in buckets if size >= count), 0) for count in rows]
        used = [(count, size) for count, size in zip(rows, sizes, strict=True) if size]
        total = sum(size for _, size in used)
        return 1 - sum(count for count, _ in used) / total if total else None
