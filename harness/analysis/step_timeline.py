"""One measured step as it ran: the host's CUDA calls, and the GPU's operations that they caused."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, timeline
from harness.analysis.metrics import Metrics
from harness.analysis.step import declared
from harness.evidence.kinds import filling
from harness.evidence.tables import Tables

_END = pl.col("start_ns") + pl.col("duration_ns")


@dataclass(frozen=True)
class StepTimeline:
    """A step of ``length_ns``; ``kind`` of capture.

    Columns of ``gpus``, a row a device: device, busy_ns, communication_ns (nothing else ran); of
    ``ops``: name, kind, device, stream, start_ns, duration_ns, correlation; of ``calls``, the
    step's thread's: name, start_ns, duration_ns, correlation. Starts count from the step's.
    """

    kind: str
    length_ns: int
    gpus: pl.DataFrame
    ops: pl.DataFrame
    calls: pl.DataFrame


def of(metrics: Metrics, variant: str, case: str) -> StepTimeline | None:
    """Return the step of median length of the cheapest timeline, None without a timeline."""
    for kind in filling("gpu_ops"):
        tables = metrics.capture_of(kind, variant, case)
        name = None if tables is None else declared(tables)
        if tables is not None and name is not None and not tables["gpu_ops"].is_empty():
            steps = _steps(tables, name, kind)
            if steps:
                return sorted(steps, key=lambda step: step.length_ns)[(len(steps) - 1) // 2]
    return None


def _steps(tables: Tables, name: str, kind: str) -> list[StepTimeline]:
    """Return the steps that launched GPU work, in order, without those in doubt.

    Beside it stands what other GPUs ran at the time, which other ranks launched.
    """
    ranges = timeline.steps(tables["ranges"], name)
    timed = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    ops = timeline.gpu_ops_in_ranges(timed, tables, name)
    doubtful = timeline.doubtful_steps(tables, name)
    steps = []
    for step in ranges.iter_rows(named=True):
        inside = ops.filter(pl.col("step") == step["step"])
        if not inside.is_empty() and step["step"] not in doubtful:
            calls = _calls(tables, step, inside)
            last = max(step["end_ns"], inside.select(_END.max()).item())
            beside = _beside(timed, inside["device"], step["start_ns"], last)
            both = pl.concat([inside.select(beside.columns), beside])
            steps.append(_step(both, calls, (step["start_ns"], last), kind))
    return steps


def _beside(ops: pl.DataFrame, own: pl.Series, first: int, last: int) -> pl.DataFrame:
    """Return the operations of devices other than ``own`` between two times, cut at these."""
    others = ops.filter(~pl.col("device").is_in(own.unique().implode(), nulls_equal=True))
    others = others.filter(pl.col("start_ns") < last, first < _END)
    start = pl.col("start_ns").clip(lower_bound=first)
    return others.with_columns(start, duration_ns=_END.clip(upper_bound=last) - start)


def _calls(tables: Tables, step: dict[str, int], ops: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of the step's thread while it was open, and those that launched for it."""
    launched = pl.col("correlation").is_in(ops["correlation"].unique().implode())
    return tables["api_calls"].filter(
        (pl.col("thread") == step["thread"]) | launched,
        pl.col("start_ns").is_between(step["start_ns"], step["end_ns"], closed="left"),
        pl.col("duration_ns").is_not_null(),
    )


def _step(ops: pl.DataFrame, calls: pl.DataFrame, ends: tuple[int, int], kind: str) -> StepTimeline:
    first, last = ends
    start = pl.col("start_ns") - first
    name = pl.col("name").cast(pl.String)
    busy = pl.col("span_ns") - pl.col("idle_ns")
    return StepTimeline(
        kind,
        last - first,
        communication.device_time(ops).select("device", "communication_ns", busy_ns=busy),
        ops.select(
            name,
            pl.col("kind").cast(pl.String),
            "device",
            "stream",
            start,
            "duration_ns",
            "correlation",
        ).sort("start_ns"),
        calls.select(name, start, "duration_ns", "correlation").sort("start_ns"),
    )
