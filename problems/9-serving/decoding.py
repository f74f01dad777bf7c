"""A step of decodes by batch, against what weights and cache take to be read."""

import random
import time
from typing import Any

import engines
import serving
import torch
from workloads.engine.model import Shape
from workloads.engine.runner import Runner

from harness.probe.cell import Cell

SPARE = 64
"""Tokens that a request may make while others are still in prefill, before the first turn."""
READ_BYTES = 1 << 31
"""Of the read that measures the memory's rate: 40 times an H100's L2 cache of 50 MB."""


def run(cell: Cell) -> None:
    """Measure all contenders in turn, at each batch, in one process."""
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    with cell.phase("capture"):
        runners = {
            name: engines.runner(weights, params, engines.options({**params, **switches}))
            for name, switches in params["contenders"].items()
        }
    for batch in params["batches"]:
        cell.fact(f"products.b{batch}", products(runners["fused"], batch))
    with cell.exclusively():
        rates = [read_rate(cell.device) for _ in range(params["turns"])]
        cell.sample("memory", "gb_s", "GB/s", rates)
        for batch in params["batches"]:
            _batch(cell, runners, weights.shape, batch, max(rates))


def products(runner: Runner, batch: int) -> str:
    """Return whose products the faster graph of a batch has: cuBLAS's, or fused ones and how."""
    graph = runner.graphs.get(batch)
    fused = graph.fused if graph else {}
    return ", ".join(f"{name} {how}" for name, how in fused.items()) or "cuBLAS"


def _batch(cell: Cell, runners: dict[str, Runner], shape: Shape, batch: int, gb_s: float) -> None:
    """Sample every contender's step at one batch, alternating."""
    params = cell.params
    running = {name: _decoding(runner, params, batch) for name, runner in runners.items()}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in running}
    for _ in range(params["turns"]):
        for name in random.sample(list(running), len(running)):
            for metric, value in _turn(running[name], shape, batch, gb_s, params).items():
                found[name].setdefault(metric, []).append(value)
    for name, series in found.items():
        for metric, values in series.items():
            unit = {"over_floor": "×", "bubble": "%"}.get(metric, "ms")
            cell.sample(f"{name}-b{batch}", metric, unit, values)


def _decoding(runner: Runner, params: dict[str, Any], batch: int) -> engines.Watched:
    """Return an engine in which ``batch`` requests decode."""
    engine = engines.engine(runner, params)
    vocabulary = runner.model.weights.shape.vocabulary
    new = params["turns"] * (params["steps_a_turn"] + 1) + SPARE
    for at in range(batch):
        prompt = [(104729 * at + token) % vocabulary for token in range(params["context"])]
        engine.submit(str(at), prompt, new)
    serving.until_all_decode(engine, params | {"requests": batch})
    return engine


def _turn(
    engine: engines.Watched, shape: Shape, batch: int, gb_s: float, params: dict[str, Any]
) -> dict[str, float]:
    """Return a contender's step, in ms: as the engine makes it, and its graph's replay alone."""
    steps = params["steps_a_turn"]
    engine.step()  # fills the pipeline of an engine that plans ahead
    begun = time.perf_counter()
    for _ in range(steps):
        engine.step()
    step_ms = (time.perf_counter() - begun) * 1e3 / steps
    host = [record["plan_us"] + record["launch_us"] for record in engine.records[-steps:]]
    found = {"step_ms": step_ms, "host_ms": sum(host) / 1e3 / steps}
    graph = engine.engine.runner.graphs.get(batch)
    if graph:
        tokens = sum(request.computed for request in engine.engine.scheduler.running)
        floor_ms = (shape.weights + tokens * shape.kv_elements) * 2 / gb_s / 1e6
        gpu_ms = _replay_ms(graph.graph, steps)
        found |= {"gpu_ms": gpu_ms, "floor_ms": floor_ms, "over_floor": gpu_ms / floor_ms}
        found["bubble"] = 100 * (1 - gpu_ms / step_ms)
    return found


def _replay_ms(graph: torch.cuda.CUDAGraph, count: int) -> float:
    """Return the GPU's ms of a replay, of so many in a row: the last step's work, again."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(count):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def read_rate(device: str) -> float:
    """Return GB/s of a sum over a tensor: every byte is read once, and next to none written."""
    data = torch.ones(READ_BYTES // 4 if device == "cuda" else 1 << 22, device=device)
    data.sum()
    if device != "cuda":
        begun = time.perf_counter()
        data.sum()
        return data.nbytes / (time.perf_counter() - begun) / 1e9
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(4):
        data.sum()
    end.record()
    end.synchronize()
    return 4 * data.nbytes / begin.elapsed_time(end) / 1e6
