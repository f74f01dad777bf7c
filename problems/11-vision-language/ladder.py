"""Time to first token of requests that come at once, rung by rung, all in turn in one process."""

import os
import random
import statistics
from typing import Any

import loads
import models
import predict
import torch
from answering import SWITCHES, Ask, Server
from spans import STAGES, Clock
from stages import Timed, works
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel

from harness.probe.cell import Cell

RUNGS = ("slow", "fast", "device", "threads", "pinned", "windows", "aligned", "graphs", "cached")
BRANCHES = ("compiled", "batched", "together")
"""Rungs beside the ladder, which a case holds against the rung that its ``after`` names."""
READ_BYTES = 1 << 31
"""Of the read that measures the memory's rate: 40 times an H100's L2 cache of 50 MB."""
_FEW = 3
"""Requests that warm a rung whose encoder an earlier one has warmed."""
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
    for at, (name, server) in enumerate(servers.items()):
        few = at and not server.options["one_call"]
        with cell.phase(f"warm-up {name}"):
            server.answer(asks[:_FEW] if few else asks, Clock(cell.device))
    if cell.capture == "timing":
        _timed(cell, model, servers, asks)
    else:
        _profiled(cell, servers[cell.variant], asks)
    for server in servers.values():
        server.close()


def _profiled(cell: Cell, server: Server, asks: list[Ask]) -> None:
    cell.measure("burst", lambda: server.answer(asks, Clock(cell.device)))


def _timed(cell: Cell, model: PreTrainedModel, servers: dict[str, Server], asks: list[Ask]) -> None:
    """Measure all rungs in turn, and between the turns each rung's stages; compare the gains."""
    several = len(servers) > 1
    timed = {name: Timed(server, asks) for name, server in servers.items()} if several else {}
    with cell.exclusively():
        found = _in_turn(cell, servers, asks, timed)
        if several:
            gb_s = read_rate(cell.device)
            cell.sample("memory", "gb_s", "GB/s", [gb_s])
            _decodes(cell, next(iter(servers.values())), asks)
        if cell.params["bursts"] and cell.params["loaded"] in servers:
            import under_load

            under_load.run(cell, servers[cell.params["loaded"]], asks)
    if several:
        work = works(model, next(iter(servers.values())), cell.params["sizes"], gb_s)
        _compared(cell, _foreseen(cell, timed, work), found, _before(cell, list(servers)))


def _in_turn(
    cell: Cell, servers: dict[str, Server], asks: list[Ask], timed: dict[str, Timed]
) -> dict[str, list[float]]:
    """Sample every rung's mean and last time to first token, alternating; return the means."""
    means: dict[str, list[float]] = {name: [] for name in servers}
    lasts: dict[str, list[float]] = {name: [] for name in servers}
    clocks: dict[str, Clock] = {}
    turns: int = cell.params["turns"]
    for turn in range(turns):
        for name in random.sample(list(servers), len(servers)):
            clocks[name] = Clock(cell.device)
            answer = servers[name].answer(asks, clocks[name])
            means[name].append(statistics.fmean(answer.first_ms))
            lasts[name].append(max(answer.first_ms))
            if name in timed:
                timed[name].take(turn, turns)
            if len(means[name]) == 1:
                cell.fact(f"padded.{name}", 100 * answer.padded, "%")
    for name in servers:
        cell.sample(name, "ttft_ms", "ms", means[name])
        cell.sample(name, "last_ms", "ms", lasts[name])
        _keep_spans(cell, name, clocks[name])
        if name in timed:
            timed[name].keep(cell, name)
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


def _foreseen(cell: Cell, timed: dict[str, Timed], work: list[predict.Work]) -> dict[str, float]:
    """Return what each rung after the first is predicted to gain over the rung before it, in ms."""
    cores = len(os.sched_getaffinity(0))
    rungs = {
        name: ({key: one.server.options[key] for key in SWITCHES}, one.stages())
        for name, one in timed.items()
    }
    predicted: dict[str, float] = {}
    for name, before in _before(cell, list(timed)).items():
        (switches, stages), (after, _) = rungs[before], rungs[name]
        then = predict.changed(stages, switches, after, work)
        saved = predict.ttft_ms(stages, switches, cores) - predict.ttft_ms(then, after, cores)
        predicted[name] = saved
        cell.fact(f"predicted_ms.{name}", saved, "ms")
    for name, (switches, stages) in rungs.items():
        cell.fact(f"queued_ms.{name}", predict.ttft_ms(stages, switches, cores), "ms")
    return predicted


def _before(cell: Cell, names: list[str]) -> dict[str, str]:
    """Return the rung that each changes: the one above it, if the case says no other."""
    above = dict(zip(names[1:], names, strict=False))
    other = cell.params.get("after", {})
    return {name: other.get(name, rung) for name, rung in above.items()}


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
    """Keep each rung's gain over the one before it, and the median errors over the rungs.

    ``error`` is that of the predicted gains, ``queue_error`` that of the queue's own means.
    """
    errors, off = [], []
    for name, before in befores.items():
        gains = [a - b for a, b in zip(found[before], found[name], strict=True)]
        cell.sample(name, "gain_ms", "ms", gains)
        errors.append(predict.error(predicted[name], statistics.median(gains)))
        cell.sample(name, "error", "%", [errors[-1]])
    for name, means in found.items():
        queued = cell.stated(f"queued_ms.{name}")
        off.append(predict.error(queued, statistics.median(means)))
    cell.sample("all-rows", "error", "%", [statistics.median(errors)])
    cell.sample("all-rows", "queue_error", "%", [statistics.median(off)])


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
