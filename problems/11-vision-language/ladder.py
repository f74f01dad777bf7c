"""Time to first token of requests that come at once, rung by rung, all in turn in one process."""

import math
import os
import random
import statistics
from collections.abc import Mapping
from typing import Any

import loads
import models
import plans
import predict
import torch
from answering import SWITCHES, Ask, Server
from spans import STAGES, Clock
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel

from harness.probe.cell import Cell

RUNGS = ("slow", "fast", "device", "threads", "pinned", "windows", "aligned", "graphs", "cached")
BRANCHES = ("compiled", "batched", "together")
"""Rungs beside the ladder, which a case holds against the rung that its ``after`` names."""
READ_BYTES = 1 << 31
"""Of the read that measures the memory's rate: 40 times an H100's L2 cache of 50 MB."""
_ALIGNED = 8
"""Elements of bf16 in 16 bytes."""
_NEXT = 8
"""Tokens after the first that are timed."""
_BACKENDS = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
"""Of attention, in torch's own order on Hopper since 2.11."""


def run(cell: Cell) -> None:
    """Measure the variant, or all contenders in turn."""
    params = cell.params
    dtype = torch.bfloat16 if cell.device == "cuda" else torch.float32
    with cell.phase("load"):
        model = models.model(params["model"], cell.device, dtype)
        asks = loads.asks(params)
    own = {name: params[name] for name in SWITCHES if name in params}
    contenders: dict[str, Any] = {cell.variant: own} if own else params["contenders"]
    rungs = {name: contenders[name] for name in (*RUNGS, *BRANCHES) if name in contenders}
    servers = {name: Server(model, {**params, **switches}) for name, switches in rungs.items()}
    for name, server in servers.items():
        with cell.phase(f"warm-up {name}"):
            for _ in range(params["warm"]):
                server.answer(asks, Clock(cell.device))
    if cell.capture == "timing":
        _timed(cell, model, servers, asks)
    else:
        _profiled(cell, servers[cell.variant], asks)
    for server in servers.values():
        server.close()


def _profiled(cell: Cell, server: Server, asks: list[Ask]) -> None:
    cell.measure("burst", lambda: server.answer(asks, Clock(cell.device)))


def _timed(cell: Cell, model: PreTrainedModel, servers: dict[str, Server], asks: list[Ask]) -> None:
    """Time each rung's stages, predict the next rung from them, then measure all in turn."""
    with cell.exclusively():
        predicted = _foreseen(cell, model, servers, asks) if len(servers) > 1 else {}
        found = _in_turn(cell, servers, asks)
        _decodes(cell, next(iter(servers.values())), asks)
        if cell.params["bursts"] and cell.params["loaded"] in servers:
            import under_load

            under_load.run(cell, servers[cell.params["loaded"]], asks)
    _compared(cell, predicted, found, _before(cell, list(servers)))


def _in_turn(cell: Cell, servers: dict[str, Server], asks: list[Ask]) -> dict[str, list[float]]:
    """Sample every rung's mean and last time to first token, alternating; return the means."""
    means: dict[str, list[float]] = {name: [] for name in servers}
    lasts: dict[str, list[float]] = {name: [] for name in servers}
    clocks: dict[str, Clock] = {}
    for _ in range(cell.params["turns"]):
        for name in random.sample(list(servers), len(servers)):
            clocks[name] = Clock(cell.device)
            answer = servers[name].answer(asks, clocks[name])
            means[name].append(statistics.fmean(answer.first_ms))
            lasts[name].append(max(answer.first_ms))
            if len(means[name]) == 1:
                cell.fact(f"padded.{name}", 100 * answer.padded, "%")
    for name in servers:
        cell.sample(name, "ttft_ms", "ms", means[name])
        cell.sample(name, "last_ms", "ms", lasts[name])
        _keep_spans(cell, name, clocks[name])
    return means


def _keep_spans(cell: Cell, name: str, clock: Clock) -> None:
    """Keep the last turn's spans, from which the page draws a rung's waterfall."""
    for at, stage in enumerate(STAGES):
        spans = [span for span in clock.spans if span.stage == stage]
        for key in ("begun", "ended", "request", "thread"):
            values = [float(getattr(span, key)) for span in spans]
            unit = "ms" if key in ("begun", "ended") else ""
            if values:
                cell.sample(f"{name}.{at}", key, unit, values)


def _foreseen(
    cell: Cell, model: PreTrainedModel, servers: dict[str, Server], asks: list[Ask]
) -> dict[str, float]:
    """Return what each rung after the first is predicted to gain over the rung before it, in ms."""
    predicted: dict[str, float] = {}
    before = _before(cell, list(servers))
    gb_s = read_rate(cell.device)
    cell.sample("memory", "gb_s", "GB/s", [gb_s])
    known: dict[str, tuple[predict.Stages, Mapping[str, Any], predict.Work]] = {}
    for name, server in servers.items():
        after = {switch: server.options[switch] for switch in SWITCHES}
        if name in before:
            stages, switches, work = known[before[name]]
            now = predict.ttft_ms(stages, switches, work)
            then = predict.ttft_ms(predict.changed(stages, switches, after, work), after, work)
            predicted[name] = now - then
            cell.fact(f"predicted_ms.{name}", now - then, "ms")
        stages, grids = _stages(cell, name, server, asks)
        known[name] = stages, after, _work(model, asks, grids, server, gb_s)
    return predicted


def _before(cell: Cell, names: list[str]) -> dict[str, str]:
    """Return the rung that each changes: the one above it, if the case says no other."""
    above = dict(zip(names[1:], names, strict=False))
    other = cell.params.get("after", {})
    return {name: other.get(name, rung) for name, rung in above.items()}


def _stages(
    cell: Cell, name: str, server: Server, asks: list[Ask]
) -> tuple[predict.Stages, list[plans.Grid]]:
    """Return a rung's stages, each timed by itself on one thread, and the requests' grids."""
    clocks, grids = [], []
    for _ in range(cell.params["stage_turns"]):
        clock = Clock(cell.device, alone=True)
        clock.start()
        grids = server.one_by_one(asks, clock)
        clock.stop()
        clocks.append(clock)

    def mean(stage: str, *, gpu: bool = False) -> float:
        return statistics.median(clock.total(stage, gpu=gpu) for clock in clocks) / len(asks)

    on_gpu = cell.device == "cuda"
    processed = on_gpu and server.options["process_on"] == "device"
    found = predict.Stages(
        decode=mean("decode"),
        process=mean("process", gpu=processed),
        copy=mean("copy"),
        encode_host=mean("encode"),
        encode_gpu=mean("encode", gpu=on_gpu),
        prefill_host=mean("prefill"),
        prefill_gpu=mean("prefill", gpu=on_gpu),
    )
    for key, value in vars(found).items():
        cell.sample(name, f"{key}_ms", "ms", [value])
    return found, grids


def _work(
    model: PreTrainedModel,
    asks: list[Ask],
    grids: list[plans.Grid],
    server: Server,
    gb_s: float,
) -> predict.Work:
    """Return the counts of a load, from its sizes and the model's."""
    count, params = len(asks), server.options
    weights = sum(each.numel() for each in model.model.language_model.layers.parameters())
    lengths = [params["text_tokens"] + tokens for tokens in server.encode.tokens(grids)]
    patches = sum(math.prod(grid) for grid in grids) / count
    pixels = sum(wide * high for wide, high in params["sizes"]) * params.get("frames", 1)
    vision = model.config.vision_config
    blocks, whole = _blocks(vision)
    calls = plans.calls(grids, blocks, whole) if server.family == "qwen" else blocks * count
    hidden = vision.intermediate_size
    return predict.Work(
        requests=count,
        cores=len(os.sched_getaffinity(0)),
        blocks=blocks,
        image_bytes=3.0 * pixels / count,
        calls=calls / count,
        encode_flop=plans.flop(grids, vision.hidden_size, hidden, blocks, whole) / count,
        odd_flop=plans.feed_forward_flop(grids, vision.hidden_size, hidden, blocks) / count
        if hidden % _ALIGNED
        else 0.0,
        prefill_flop=2.0 * weights * sum(lengths) / count,
        pass_bytes=2.0 * patches * vision.hidden_size,
        padded=max(lengths) * count / sum(lengths),
        gb_s=gb_s,
    )


def _blocks(vision: Any) -> tuple[int, int]:
    """Return the encoder's blocks, and those of them with attention over a whole frame."""
    whole = getattr(vision, "fullatt_block_indexes", None)
    if whole is None:
        return vision.num_hidden_layers, vision.num_hidden_layers
    return vision.depth, len(whole)


def _decodes(cell: Cell, server: Server, asks: list[Ask]) -> None:
    """Time tokens after the first of one request, which no rung changes.

    The same tokens come three times. On Hopper torch takes cuDNN's attention, which is built for
    each new length of keys: the first time all are new, then they are known, then another is taken.
    """
    others = [each for each in _BACKENDS if each != SDPBackend.CUDNN_ATTENTION]
    for region, backends in (("new", _BACKENDS), ("known", _BACKENDS), ("no-cudnn", others)):
        with sdpa_kernel(backends, set_priority=True):
            cell.sample(f"decode-{region}", "next_ms", "ms", server.decode_ms(asks[0], _NEXT))


def _compared(
    cell: Cell,
    predicted: dict[str, float],
    found: dict[str, list[float]],
    befores: dict[str, str],
) -> None:
    """Keep each rung's gain over the one before it, and the predictions' median error."""
    errors = []
    for name, before in befores.items():
        gains = [a - b for a, b in zip(found[before], found[name], strict=True)]
        cell.sample(name, "gain_ms", "ms", gains)
        if name in predicted:
            errors.append(predict.error(predicted[name], statistics.median(gains)))
            cell.sample(name, "error", "%", [errors[-1]])
    if errors:
        cell.sample("all-rows", "error", "%", [statistics.median(errors)])


def read_rate(device: str) -> float:
    """Return GB/s of a sum over a tensor on a GPU: every byte is read once; 10 on a CPU."""
    if device != "cuda":
        return 10.0
    data = torch.ones(READ_BYTES // 4, device=device)
    data.sum()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(4):
        data.sum()
    end.record()
    end.synchronize()
    return 4 * data.nbytes / begin.elapsed_time(end) / 1e6
