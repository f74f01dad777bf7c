"""What captures hold, by docs/glossary.md: where it can be, from other columns than the harness's.

Each measure takes a function that returns a table's rows of one cell, and returns None where a
quantile is of a request without a token.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import polars as pl

from benchmarks.recompute.evidence import WARM_UP

Of = Callable[[str], pl.DataFrame]


def launches(of: Of, name: str) -> pl.DataFrame:
    """Return launch and value of one of Nsight Compute's metrics; times are in ns, sizes in B."""
    rows = of("counters").filter(pl.col("metric") == name)
    assert not rows["unit"].str.contains("^[KMGTum](byte|s)").any(), "a scaled unit"
    return rows.select("launch", "value")


def longest(of: Of) -> int:
    """Return the launch that took longest, by its counters."""
    times = launches(of, "gpu__time_duration.sum")
    return min(times.filter(pl.col("value") == times["value"].max())["launch"])


def counter(of: Of, name: str) -> float | None:
    """Return a counter of the longest kernel."""
    rows = launches(of, name).filter(pl.col("launch") == longest(of))
    return next(iter(rows["value"]), None)


def kernel_time(of: Of) -> float:
    """Milliseconds of all kernels, each replayed alone."""
    return launches(of, "gpu__time_duration.sum")["value"].sum() / 1e6


def dram_bytes(of: Of) -> float:
    """Bytes that all kernels read from device memory, and wrote."""
    return sum(launches(of, f"dram__bytes_{way}.sum")["value"].sum() for way in ("read", "write"))


def thread_instructions(of: Of) -> float | None:
    """Instructions of the longest kernel's threads: those of its SASS lines, times threads each."""
    lines = of("instructions").filter(pl.col("launch") == longest(of))
    threads = counter(of, "smsp__thread_inst_executed_per_inst_executed.ratio")
    return None if threads is None else lines["executed"].sum() * threads


def gpu_idle_share(of: Of) -> float:
    """Percent of the time from first start to last end at which no operation had begun unended."""
    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")
    ops = of("gpu_ops")
    begun = ops.select(at=start, running=pl.lit(1))
    ended = ops.select(at=end, running=pl.lit(-1))
    edges = pl.concat([begun, ended]).group_by("at").agg(pl.col("running").sum()).sort("at")
    edges = edges.select("at", pl.col("running").cum_sum(), length=pl.col("at").diff().shift(-1))
    return 100 * edges.filter(pl.col("running") == 0)["length"].sum() / edges["length"].sum()


def transient_bytes(of: Of) -> float:
    """Most bytes allocated in the measured phase, less those at the mark before that phase."""
    declared = of("facts").filter(pl.col("name").str.starts_with("declared "))["name"][0]
    phase = declared.removeprefix("declared ").removeprefix("step:")
    marks = of("memory_marks").sort("index").select("phase", "allocated_bytes").rows()
    at = [name for name, _ in marks].index(phase)
    before = marks[at - 1][1] if at else 0
    inside = of("memory_timeline").filter(pl.col("phase") == phase)
    return max(inside["allocated_bytes"].to_list()) - before


def requests(of: Of) -> pl.DataFrame:
    """Return the requests after warm-up, each with the times at which its tokens came."""
    times = of("load_tokens").group_by("request").agg(pl.col("time_ns").sort())
    counted = of("load_requests").filter(pl.col("mark").fill_null("") != WARM_UP)
    return counted.join(times, on="request", how="left")


def tokens_per_s(of: Of, *, prompts: bool) -> float:
    """Tokens that came, and of prompts that were answered, from the first due to the end."""
    rows = requests(of)
    tokens = rows["time_ns"].list.len().sum()
    if prompts:
        tokens += rows.filter(pl.col("time_ns").is_not_null())["prompt_tokens"].sum()
    return tokens / ((of("load_runs")["end_ns"][0] - rows["due_ns"].min()) / 1e9)


def first_token_ms(of: Of, share: float) -> float | None:
    """Milliseconds from when a request was due to its first token: a quantile over requests."""
    pairs = requests(of).select("due_ns", "time_ns").rows()
    return quantile([times[0] - due if times else math.inf for due, times in pairs], share)


def between_tokens_ms(of: Of, share: float) -> float | None:
    """Milliseconds between two tokens of a request: a quantile over all of them."""
    every = requests(of)["time_ns"].drop_nulls().to_list()
    gaps = [after - before for times in every for before, after in pairwise(times)]
    return quantile(gaps, share)


def quantile(ns: list[float], share: float) -> float | None:
    """Return a quantile in milliseconds, linear between the two nearest values."""
    if not ns:
        return None
    ordered, place = sorted(ns), share * (len(ns) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    value = low if low == high else low + place % 1 * (high - low)
    return value / 1e6 if math.isfinite(value) else None


MEASURES: dict[str, Callable[[Of], float | None]] = {
    "kernel_time": kernel_time,
    "dram_bytes": dram_bytes,
    "thread_instructions": thread_instructions,
    "gpu_idle_share": gpu_idle_share,
    "transient_bytes": transient_bytes,
    "output_tokens_per_s": lambda of: tokens_per_s(of, prompts=False),
    "total_tokens_per_s": lambda of: tokens_per_s(of, prompts=True),
    "ttft_p50_ms": lambda of: first_token_ms(of, 0.5),
    "ttft_p99_ms": lambda of: first_token_ms(of, 0.99),
    "itl_p50_ms": lambda of: between_tokens_ms(of, 0.5),
}
