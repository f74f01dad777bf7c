"""Serve the case's requests with the variant's engine, and record what came of each."""

from collections.abc import Mapping, Sequence
from typing import Any

import engines
import loads
import torch
from workloads.engine.model import Model

from harness.probe.cell import Cell
from harness.probe.load.driver import Recording, drive
from harness.probe.load.workload import Request

WARM_NEW = 4
"""New tokens of each request of the warm-up: enough for a prefill, then decodes of every batch."""


def run(cell: Cell) -> None:
    """Serve the load under the cell's capture."""
    if cell.params["engine"] != "ours":
        _of_others(cell.params["engine"]).run(cell)
        return
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    with cell.phase("capture"):
        runner = engines.runner(weights, params, engines.options(params))
    load = loads.requests(params, weights.shape.vocabulary)
    with cell.phase("warmup"):
        drive(engines.engine(runner, params), short(load))
    if cell.capture == "load":
        with cell.exclusively():
            engine = engines.engine(runner, params)
            recording = drive(engine, load)
        state(cell, engine)
        save(cell, recording, params["blocks"])
    else:
        profile(cell, engines.engine(runner, params), load)


def _of_others(engine: str):  # noqa: ANN202 - a module
    """Return the script of another's engine, which the cells of that environment can import."""
    if engine == "transformers":
        import rivals

        return rivals
    import engines_of_others

    return engines_of_others


def short(load: Sequence[Request]) -> list[Request]:
    """Return the same requests, at once and with few new tokens."""
    return [Request(one.name, 0, one.prompt, min(one.most_new, WARM_NEW)) for one in load]


def save(cell: Cell, recording: Recording, blocks: int | None) -> None:
    """Write the capture."""
    told = loads.in_words(cell.params)
    recording.save(cell.out, loads.slo(cell.params), kv_blocks=blocks, load=told)
    cell.fact("prompt_tokens", sum(len(one.request.prompt) for one in recording.lives.values()))


def state(cell: Cell, engine: engines.Watched) -> None:
    """State what the engine's steps were."""
    records = engine.records
    cell.fact("steps", len(records))
    cell.fact("preemptions", sum(record["preempted"] for record in records))
    cell.fact("kv_unused", 100 * sum(engine.unused) / max(len(engine.unused), 1), "%")
    decodes = [record["requests"] for record in records if record["kind"] == "decode"]
    cell.fact("decode_steps", len(decodes))
    if decodes:
        cell.fact("decode_batch", sum(decodes) / len(decodes))
    padded = engine.padded()
    if padded is not None:
        cell.fact("padded", 100 * padded, "%")


def profile(cell: Cell, engine: engines.Watched, load: Sequence[Request]) -> None:
    """Record steps of the engine once every request that fits decodes."""
    for request in load:
        engine.submit(request.name, request.prompt, request.most_new)
    if cell.capture == "torch":
        name_parts(engine.engine.runner.model)
    with cell.phase("prefill"):
        until_all_decode(engine, cell.params)
    cell.measure("step", engine.step)


def name_parts(model: Model) -> None:
    """Let the model's parts stand as annotations in torch's trace, where modules would."""
    for part in ("_attention", "_feed"):
        wrapped = torch.profiler.record_function(part.strip("_"))(getattr(model, part))
        setattr(model, part, wrapped)


def until_all_decode(engine: engines.Watched, params: Mapping[str, Any]) -> None:
    """Make steps until two in a row were decodes alone."""
    decodes = 0
    while engine.busy and decodes < 2:
        decodes = decodes + 1 if engine.step().record["kind"] == "decode" else 0
    if not engine.busy:
        raise SystemExit(f"all {params['requests']} requests ended before they decoded together")
