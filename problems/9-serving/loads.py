"""The requests of a case: when they come, and how long prompts and outputs are; all from a seed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.probe.load import workload
from harness.probe.load.driver import Slo
from harness.probe.load.workload import Arrivals, Lengths, Request

SEED = 9


def requests(params: Mapping[str, Any], vocabulary: int) -> list[Request]:
    """Return the requests of a case; those that share a ``prefix`` begin with the same tokens.

    ``prompt`` and ``output``: [least, most] tokens, all lengths between alike likely; or ``trace``
    names the published distribution that both are drawn from, with the same two limits.
    """
    drawn = workload.requests(
        params["requests"], _arrivals(params), _lengths(params), SEED, vocabulary
    )
    shared = [token % vocabulary for token in range(params.get("prefix", 0))]
    return [replace(request, prompt=shared + request.prompt) for request in drawn]


def in_words(params: Mapping[str, Any]) -> str:
    """Return the load in words, as its capture states it."""
    rate = params.get("rate")
    when = f"poisson, {rate}/s" if rate else "all at once"
    lengths = params.get("trace", "uniform lengths")
    return f"{params['requests']} requests, {when}, {lengths}, seed {SEED}"


def slo(params: Mapping[str, Any]) -> Slo:
    """Return what a request is to meet."""
    return Slo(params["ttft_ms"], params["itl_ms"])


def _arrivals(params: Mapping[str, Any]) -> Arrivals:
    return workload.poisson(params["rate"]) if params.get("rate") else workload.at_once()


def _lengths(params: Mapping[str, Any]) -> tuple[Lengths, Lengths]:
    ends = params["prompt"], params["output"]
    if "trace" not in params:
        prompts, outputs = (Lengths((least, most), (0, 1)) for least, most in ends)
        return prompts, outputs
    prompts, outputs = (
        replace(lengths, least=least, most=most)
        for lengths, (least, most) in zip(workload.LENGTHS[params["trace"]], ends, strict=True)
    )
    return prompts, outputs
