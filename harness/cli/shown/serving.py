"""A load on a serving engine: what became of requests, latencies, rates, and the engine's steps."""

from typing import Any

from harness.cli.shown.columns import NOT_MEASURED, Cell, number, print_rows, text

_LATENCIES = {"time to first token": "ttft", "time between tokens": "itl", "end to end": "e2e"}
_QUANTILES = ("p50", "p95", "p99", "max")
_REQUESTS: dict[str, Cell] = {
    "sent": number("sent"),
    "warm-up": number("warm_up"),
    "ended": number("ended"),
    "no token": number("without_token"),
    "preempted": number("preempted"),
}
_RATES: dict[str, Cell] = {
    "output\ntokens/s": number("output_tokens_per_s", 1, 1),
    "with prompts\ntokens/s": number("total_tokens_per_s", 1, 1),
    "in bounds\n%": number("slo_attainment", 1, 1),
    "goodput\nrequests/s": number("goodput", 1, 2),
    "queue\nmean": number("queue_mean", 1, 2),
    "queue\nmost": number("queue_max"),
    "KV cache\n% at most": number("kv_use_max", 1, 1),
}
_STEPS: dict[str, Cell] = {
    "steps": text("kind"),
    "n": number("count"),
    "median ms": number("median_ns", 1e6, 3),
    "requests": number("requests", 1, 1),
    "tokens": number("tokens", 1, 1),
    "host ms": number("host_ns", 1e6, 3),
}


def show(document: dict[str, Any], _names: dict[str, str]) -> None:
    """Print requests, latencies from when they were due, rates, and steps by kind."""
    metrics, slo = document["metrics"], document["slo"]
    print_rows("Requests", [document["requests"]], _REQUESTS)
    rows = [
        {"latency": latency, **{name: metrics.get(f"{key}_{name}_ms") for name in _QUANTILES}}
        for latency, key in _LATENCIES.items()
    ]
    columns: dict[str, Cell] = {"ms, after warm-up": text("latency")}
    print_rows(
        "Latencies from when requests were due",
        rows,
        columns | {name: number(name, 1, 2) for name in _QUANTILES},
    )
    print_rows(f"Rates, queue and cache; bounds: {_bounds(slo)}", [metrics], _RATES)
    print_rows(
        "Steps of the engine: medians, means of requests and tokens", document["steps"], _STEPS
    )


def _bounds(slo: dict[str, int | None]) -> str:
    """Return the bounds that requests were to meet in words."""
    first, between = slo["ttft_slo_ns"], slo["itl_slo_ns"]
    if first is None or between is None:
        return NOT_MEASURED
    return f"first token in {first / 1e6:g} ms, p99 between tokens {between / 1e6:g} ms"
