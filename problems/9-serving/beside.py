"""A long prompt that comes while other requests decode: what its prefill does to their tokens."""

import dataclasses
import statistics
import time
from collections.abc import Mapping
from typing import Any

import engines
import law
import serving
from gaps import LONG, gaps_ms
from workloads.engine.runner import Runner
from workloads.engine.serve import build

from harness.probe.cell import Cell
from harness.probe.load.driver import Recording, drive, quantile
from harness.probe.load.workload import Request

TAIL = 0.99
DECODES = 24
"""Steps of decodes alone whose median is the law's: too few to lengthen their context."""


def run(cell: Cell) -> None:
    """Measure the law's rates, predict, then serve the load and compare."""
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    with cell.phase("capture"):
        runner = engines.runner(weights, params, engines.options(params))
    load = requests(params, weights.shape.vocabulary)
    with cell.phase("warmup"):
        drive(engines.engine(runner, params), serving.short(load))
    with cell.exclusively():
        known = measured_rates(runner, params, load)
        engine = engines.engine(runner, params)
        recording = drive(engine, load)
    serving.state(cell, engine)
    serving.save(cell, recording, params["blocks"])
    state(cell, known, recording)


def requests(params: Mapping[str, Any], vocabulary: int) -> list[Request]:
    """Return ``requests`` that decode from the start, and a long prompt that comes later."""
    decoding = [
        Request(str(at), 0, _tokens(at, params["prompt"], vocabulary), params["output"])
        for at in range(params["requests"])
    ]
    prompt = _tokens(params["requests"], params["long_prompt"], vocabulary)
    return [*decoding, Request(LONG, round(params["long_at_s"] * 1e9), prompt, 8)]


def _tokens(seed: int, count: int, vocabulary: int) -> list[int]:
    return [(7919 * (seed + 1) + 104729 * at) % vocabulary for at in range(count)]


def measured_rates(runner: Runner, params: Mapping[str, Any], load: list[Request]) -> law.Rates:
    """Return the law's rates, of decodes alone and of two prompts alone, computed whole."""
    *decoding, long = load
    engine = engines.engine(runner, params)
    for request in decoding:
        engine.submit(request.name, request.prompt, request.most_new)
    serving.until_all_decode(engine, params)
    times = []
    for _ in range(DECODES):
        begun = time.perf_counter()
        engine.step()
        times.append((time.perf_counter() - begun) * 1e3)
    while engine.busy:
        for request in decoding:
            engine.engine.cancel(request.name)
        engine.step()
    fewer = long.prompt[: len(long.prompt) // 8]
    prompts = [(len(prompt), _whole_ms(runner, params, prompt)) for prompt in (fewer, long.prompt)]
    return law.rates(statistics.median(times), *prompts)


def _whole_ms(runner: Runner, params: Mapping[str, Any], prompt: list[int]) -> float:
    """Return the ms from a prompt's step to its token, alone and whole; the faster of two."""
    switches = dataclasses.replace(runner.options, chunked=False, reuse_prefixes=False)
    times = []
    for _ in range(2):
        engine = build(runner, switches, params["blocks"])
        engine.submit(LONG, prompt, 1)
        begun = time.perf_counter()
        while engine.busy:
            engine.step()
        times.append((time.perf_counter() - begun) * 1e3)
    return min(times)


def state(cell: Cell, known: law.Rates, recording: Recording) -> None:
    """State times between tokens before and during the prefill, and what the law predicted."""
    params = cell.params
    chunk = params["token_budget"] - params["requests"] if params["chunked"] else None
    steps = law.steps_ms(known, params["long_prompt"], chunk or params["long_prompt"])
    predicted = quantile(steps, TAIL)
    before, during, ttft = gaps_ms(recording)
    p99 = quantile(during, TAIL)
    facts = {
        "decode_ms": known.decode_ms,
        "itl_before_ms": quantile(before, TAIL),
        "itl_during_ms": p99,
        "long_ttft_ms": ttft,
        "predicted_ms": predicted,
    }
    for name, value in facts.items():
        cell.fact(name, value, "ms")
    cell.fact("token_us", 1e3 * known.token_ms, "µs")
    cell.fact("pair_ns", 1e6 * known.pair_ms, "ns")
    cell.fact("itl_over", p99 / quantile(before, TAIL), "×")
    cell.fact("law_error", 100 * abs(predicted / p99 - 1), "%")
