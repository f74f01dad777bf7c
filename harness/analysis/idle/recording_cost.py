"""What of a device's idle time is the profiler's: it slows the host, and the device waits for it.

A profiler notes each host call, and torch's each operator, on the thread that makes it. So the
thread launches later than in the program itself. Where an unprofiled run of the same step is known,
what the recorded step takes longer is the profiler's. Elsewhere it is estimated: a part of the time
that the host spends on calls and operators, by what the capture recorded.

The host would have been earlier by the cost of all that it did since it last waited for the device,
also of what it did while the device was busy. The device gains no more than it idled.
"""

import statistics
from dataclasses import astuple, dataclass

import polars as pl

from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls, host_state
from harness.analysis.recording import conditions_of
from harness.evidence import kinds
from harness.evidence.capture import Capture


@dataclass(frozen=True)
class Part:
    """Which part of the host's time recording takes: the middle, the least and the most."""

    cost: float
    least: float
    most: float


OF_NSYS = Part(0.28, 0.20, 0.50)
"""Of eight programs that the host limits, under nsys with CUDA, NVTX and OS calls: the median, and
about the 20th and 80th percentile; -0.82 (bare times that jumped), then 0.20 to 0.53
(benchmarks/recording_cost.py, H200)."""
OF_TORCH = (Part(0.32, 0.27, 0.36), Part(0.38, 0.15, 0.49), Part(0.47, 0.28, 0.52))
"""Under torch.profiler (CUPTI 13.0.1): alone, with shapes or stacks, with both. Recorded steps less
bare ones, over recorded ones, of ten programs that the host limits (benchmarks/recording_cost.py,
H200): the median and the 10th and 90th percentile. The median of the other nine misses a program by
0.02, 0.08 and 0.05 in the median. The same fitted as µs an operator and call misses by 0.16 of the
step, as both double on a host of half the speed."""
OF_TORCH_ERROR = 0.10
"""Of the time: how far idle time without the part of OF_TORCH may be from the program's own. Of 72
recordings of known idle time 66 are nearer (benchmarks/recording_cost.py, H200)."""
EVENT_NS = 5_000
"""What recording an event, a call or an operator, costs at most. On the same programs 1.3 to 4.7 µs
without options. It keeps code that records nothing out of the profiler's part."""

COSTS = ("cost", "least", "most")
"""Columns of idle pieces: the profiler's part of each, as a fraction, by the fields of a Part."""

OF_THE_HOST = (idle_causes.HOST, idle_causes.LAUNCH, idle_causes.SYNCHRONISE)
"""Causes of idle time of which a part is the profiler's."""
_OTHERS = 2
"""Steps beside the first of which a median says how long one takes."""
_OPTIONS = ("shapes", "Python stacks")
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def has_operators(capture: Capture) -> bool:
    """Return whether its profiler records a framework's operators, as torch's does."""
    return capture.kind in kinds.filling("operators")


def part_of(capture: Capture) -> Part:
    """Return which part of the host's time a capture's recording took, by what it recorded."""
    if not has_operators(capture):
        return OF_NSYS
    tracing = conditions_of(capture).get("tracing", "")
    return OF_TORCH[sum(option in tracing for option in _OPTIONS)]


def most_ns(capture: Capture) -> float:
    """Return what recording costs at most from one call to the next: the call and its operators.

    Operators are not kept one by one, so each call has as many as the mean of the capture.
    """
    calls, operators = capture.tables["api_calls"].height, capture.tables["operators"]
    recorded = int(operators.filter(pl.col("total_ns").is_not_null())["count"].sum())
    return EVENT_NS * (1 + recorded / calls) if calls else 0.0


def with_own_between(pieces: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Return idle pieces (of host_state.idle_pieces) with between_ns without the profiler's."""
    cost = pl.min_horizontal(pl.col("between_ns") * part_of(capture).cost, most_ns(capture))
    return pieces.with_columns(between_ns=(pl.col("between_ns") - cost).cast(pl.Int64))


def of_host(capture: Capture, calls: pl.DataFrame) -> pl.DataFrame:
    """Return what recording has cost the host at each call since it last waited for the device.

    ``calls`` with ``kind``; those of threads that launch count, in one row after the other, as
    torch's forward and backward pass do. Columns: at_ns (the call's start), wait (the number of the
    last wait), cost, least and most in ns.
    """
    launching = calls.filter(pl.col("kind") == host_calls.LAUNCH)["thread"].unique()
    mine = calls.filter(pl.col("thread").is_in(launching.implode()))
    outer = host_state.outermost(mine).sort("start_ns")
    kind = host_calls.kinds(outer["name"])
    may_wait = kind.is_in([host_calls.COPY, host_calls.ALLOCATE])
    waits = (kind == host_calls.SYNCHRONISE) | (may_wait & (_LENGTH > idle_causes.LONG_NS))
    since = pl.col("end_ns") - pl.col("end_ns").cum_max().shift(1)
    rows = outer.with_columns(waits=waits, since=since.clip(0).fill_null(0))
    rows = rows.with_columns(wait=pl.col("waits").cum_sum()).filter(~pl.col("waits"))
    limit = most_ns(capture)
    return rows.select(
        "wait",
        *(
            pl.min_horizontal(pl.col("since") * part, limit).cum_sum().over("wait").alias(name)
            for name, part in zip(COSTS, astuple(part_of(capture)), strict=True)
        ),
        at_ns="start_ns",
    )


def total_ns(host: pl.DataFrame) -> int:
    """Return what recording cost the host in all (of_host), in ns."""
    return round(host.group_by("wait").agg(pl.col("cost").max())["cost"].sum())


def with_estimate(idle: pl.DataFrame, host: pl.DataFrame) -> pl.DataFrame:
    """Return the idle pieces of one device with COSTS, by what recording cost the host (of_host).

    After each gap the device is earlier by s = min(h, s' + g): h, by how much the host is; s', by
    how much the device was before; g, what the gap has of the host. So s is g summed, and the least
    h - g summed that was so far, where that is negative.
    """
    by_host = pl.col("cause").is_in(OF_THE_HOST)
    gaps = idle.group_by("gap").agg(
        pl.col("end_ns").max().alias("until"), _LENGTH.filter(by_host).sum().alias("gap_ns")
    )
    placed = gaps.sort("until").join_asof(
        host.sort("at_ns"), left_on="until", right_on="at_ns", check_sortedness=False
    )
    saved = placed.select("gap", *(_saved(name).alias(name) for name in COSTS))
    rows = idle.join(saved, on="gap", how="left", maintain_order="left")
    return rows.with_columns(pl.when(by_host).then(name).otherwise(0.0) for name in COSTS)


def _saved(cost: str) -> pl.Expr:
    """Return which part of a gap's time of the host the profiler made, by the gaps before it."""
    gap_ns = pl.col("gap_ns")
    ahead = (pl.col(cost) - gap_ns.cum_sum()).cum_min().clip(upper_bound=0)
    earlier = (gap_ns.cum_sum() + ahead).over("wait")
    more = earlier - earlier.shift(1).over("wait").fill_null(0)
    return pl.when(gap_ns > 0).then(more / gap_ns).otherwise(0.0).fill_null(0.0)


def with_start(idle: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return idle pieces with COSTS, and with what torch.profiler's start adds to the first step.

    ``spans``: start_ns and end_ns of steps of the same work, that began with the recording. The
    profiler is slow as it starts to trace, for which its schedules have a warm-up (torch.profiler,
    ``schedule``); a recording without one has it in its first step. It is what that step takes
    longer than the median of the others.
    """
    first, *others = spans.sort("start_ns").select(_LENGTH).to_series()
    if len(others) < _OTHERS:
        return idle
    in_first = pl.col("cause").is_in(OF_THE_HOST) & (pl.col("end_ns") <= spans["end_ns"].min())
    host_ns = idle.filter(in_first).select(_LENGTH.sum()).item()
    part = max(first - statistics.median(others), 0) / host_ns if host_ns else 0.0
    return idle.with_columns(
        pl.when(in_first).then((pl.col(name) + part).clip(upper_bound=1.0)).otherwise(name)
        for name in COSTS
    )


def with_known(idle: pl.DataFrame, excess_ns: float) -> pl.DataFrame:
    """Return idle pieces with COSTS, where the recorded steps took ``excess_ns`` longer.

    The profiler slows what the launching thread does, so that idle time shrinks evenly; a wait for
    input or for the allocator is not the profiler's.
    """
    host = pl.col("cause").is_in(OF_THE_HOST)
    most = idle.filter(host).select(_LENGTH.sum()).item()
    part = min(max(excess_ns, 0.0) / most, 1.0) if most else 0.0
    known = pl.when(host).then(part).otherwise(0.0)
    return idle.with_columns(known.alias(name) for name in COSTS)


def own_ns(cost: str = "cost") -> pl.Expr:
    """Return how long the pieces are without the profiler's part, in whole ns."""
    return (_LENGTH * (1 - pl.col(cost))).round().cast(pl.Int64)


def taken_off(idle: pl.DataFrame, cost: str = "cost") -> int:
    """Return how much of the idle time is the profiler's, in ns."""
    return int(idle.select((_LENGTH - own_ns(cost)).sum()).item())
