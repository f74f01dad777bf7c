"""The parts of one measured step of a variant, from whichever capture holds them."""

from typing import NamedTuple

import polars as pl

from harness.analysis import step, timeline
from harness.analysis.counters import per_kernel
from harness.analysis.diff import cells, gpu
from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.metrics import Metrics
from harness.evidence.kinds import filling

COUNTERS = ("time_ns", "dram_bytes", "dram_pct", "sm_pct", "occupancy_pct", "waves")
"""The columns of :func:`counters` after name and launches."""


class StepKernels(NamedTuple):
    """The kernel table of the measured region, its number of steps, the kind of its capture."""

    kernels: pl.DataFrame
    steps: int
    kind: str


def kernels(metrics: Metrics, variant: str, case: str) -> StepKernels | None:
    """Return the kernels of the cheapest timeline that holds GPU work of the measured region.

    None without one; a timeline whose steps are in doubt does not count.
    """
    for kind in filling("gpu_ops"):
        tables = metrics.capture_of(kind, variant, case)
        if tables is None or tables["gpu_ops"].is_empty():
            continue
        name = step.declared(tables)
        if name is None:
            continue
        inside = timeline.gpu_ops_in_ranges(tables["gpu_ops"], tables, name)
        if not inside.is_empty() and not timeline.doubtful_steps(tables, name):
            steps = timeline.steps(tables["ranges"], name).height
            return StepKernels(timeline.kernel_table(inside), steps, kind)
    return None


def operators(metrics: Metrics, variant: str, case: str, most: int) -> pl.DataFrame | None:
    """Return the ``most`` operators with most GPU time, None where none were recorded.

    Columns: name; count, host_us (inclusive) and gpu_us (of the operator's own kernels) a step.
    Operators without GPU time are left out where any has some.
    """
    tables = metrics.capture_with("operators", variant, case)
    region = None if tables is None else step.declared(tables)
    if tables is None or region is None:
        return None
    steps = timeline.steps(tables["ranges"], region).height
    by = ["device_ns", "total_ns"]
    top = tables["operators"].sort(by, descending=True, nulls_last=True).head(most)
    if top["device_ns"].null_count() < top.height:
        top = top.filter(pl.col("device_ns") > 0)
    return top.select(
        "name",
        pl.col("count") / steps,
        (pl.col("total_ns") / steps / 1e3).alias("host_us"),
        (pl.col("device_ns") / steps / 1e3).alias("gpu_us"),
    )


def counters(metrics: Metrics, variant: str, case: str) -> pl.DataFrame | None:
    """Return one row a kernel name of the profiled step, None where none was profiled.

    Columns: name, launches and COUNTERS, each the median over the launches.
    """
    tables = metrics.capture_with("counters", variant, case)
    if tables is None:
        return None
    return (
        per_kernel(tables["counters"])
        .group_by("name", maintain_order=True)
        .agg(pl.len().alias("launches"), *(pl.col(column).median() for column in COUNTERS))
    )


def difference(metrics: Metrics, a: str, b: str, case: str) -> GpuDiff | None:
    """Return the difference of the step of variant ``b`` from that of ``a``.

    It is taken from the cheapest timeline that both have; None without one.
    """
    for kind in filling("gpu_ops"):
        sides = [metrics.capture_of(kind, variant, case) for variant in (a, b)]
        if sides[0] and sides[1] and not cells.refused("gpu_ops", sides[0], sides[1]):
            return gpu.compare(sides[0], sides[1])
    return None
