"""One measured step as it ran: the host's CUDA calls, and the GPU's operations that they caused."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import intervals, timeline
from harness.analysis.metrics import Metrics
from harness.analysis.step import declared
from harness.evidence.kinds import filling
from harness.evidence.tables import Tables


@dataclass(frozen=True)
class StepTimeline:
    """A step of ``length_ns``, of which the GPU was busy for ``busy_ns``; ``kind`` of capture.

    Columns of ``ops``: name, kind, device, stream, start_ns, duration_ns, correlation; of
    ``calls``: name, start_ns, duration_ns, correlation. Starts count from the step's.
    """

    kind: str
    length_ns: int
    busy_ns: int
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
    """Return the steps that launched GPU work, in order, without those in doubt."""
    ranges = timeline.steps(tables["ranges"], name)
    ops = timeline.gpu_ops_in_ranges(tables["gpu_ops"], tables, name)
    ops = ops.drop_nulls(["start_ns", "duration_ns"])
    doubtful = timeline.doubtful_steps(tables, name)
    steps = []
    for step in ranges.iter_rows(named=True):
        inside = ops.filter(pl.col("step") == step["step"])
        if not inside.is_empty() and step["step"] not in doubtful:
            steps.append(_step(inside, _calls(tables, step, inside), step, kind))
    return steps


def _calls(tables: Tables, step: dict[str, int], ops: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of the step's thread while it was open, and those that launched for it."""
    launched = pl.col("correlation").is_in(ops["correlation"].unique().implode())
    return tables["api_calls"].filter(
        (pl.col("thread") == step["thread"]) | launched,
        pl.col("start_ns").is_between(step["start_ns"], step["end_ns"], closed="left"),
        pl.col("duration_ns").is_not_null(),
    )


def _step(ops: pl.DataFrame, calls: pl.DataFrame, step: dict[str, int], kind: str) -> StepTimeline:
    stretches = intervals.union(
        ops.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    )
    last = max(step["end_ns"], stretches["end_ns"][-1])
    start = pl.col("start_ns") - step["start_ns"]
    name = pl.col("name").cast(pl.String)
    return StepTimeline(
        kind,
        last - step["start_ns"],
        intervals.length(stretches),
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
