"""What findings on kernels read: one profiled launch and its hardware counters."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose.families import Capture


@dataclass(frozen=True)
class KernelView:
    """One profiled launch; ``share`` is its part of the subject's time, as a fraction."""

    name: str
    launch: int
    source: str
    share: float
    metrics: dict[str, float]


def views(captures: Sequence[Capture]) -> Sequence[KernelView]:
    """Return one view a profiled launch, in launch order of each capture."""
    launches = []
    for capture in captures:
        counters = capture.tables["counters"].cast({"name": pl.String, "metric": pl.String})
        for (launch, name), rows in counters.group_by("launch", "name", maintain_order=True):
            metrics = dict(rows.select("metric", "value").drop_nulls().iter_rows())
            launches.append((str(name), launch, capture.label, metrics))
    times = [metrics.get("gpu__time_duration.sum", 0.0) for *_, metrics in launches]
    whole = sum(times) or 1.0
    return [
        KernelView(name, launch, source, time / whole, metrics)
        for (name, launch, source, metrics), time in zip(launches, times, strict=True)
    ]
