"""What can be read off one cell's capture: the measures that kinds name, functions of its tables.

Each returns a float in the unit its docstring names, or None where the capture does not hold it.
"""

from collections.abc import Callable

import polars as pl

from harness.analysis import communication, serving, step, timeline
from harness.analysis.counters import of_longest_kernel, per_kernel
from harness.analysis.diagnose import host_code, timeline_view
from harness.analysis.idle import causes
from harness.evidence.capture import Capture
from harness.evidence.kinds import filling
from harness.evidence.tables import Tables


def _steps(tables: Tables) -> pl.DataFrame | None:
    name = step.declared(tables)
    if name is None or tables["gpu_ops"].is_empty():
        return None
    return timeline.step_activity(tables["gpu_ops"], tables, name)


def kernels_per_step(tables: Tables) -> float | None:
    """GPU kernels launched in one step; None where steps differ in it or it is in doubt."""
    steps = _steps(tables)
    if steps is None or steps["kernels"].n_unique() != 1 or steps["kernels"].has_nulls():
        return None
    return float(steps["kernels"][0])


def gpu_busy_per_step(tables: Tables) -> float | None:
    """Milliseconds of a step in which the GPU did anything; median over the steps not in doubt."""
    steps = _steps(tables)
    busy = None if steps is None else steps["busy_ns"].median()
    return None if busy is None else float(busy) / 1e6  # type: ignore[arg-type]  # a number column


def gpu_idle_share(tables: Tables) -> float | None:
    """Percent of the span from the first GPU operation to the last in which none ran."""
    activity = timeline.activity(tables["gpu_ops"])
    if activity.span_ns is None or activity.idle_ns is None or activity.span_ns == 0:
        return None
    return 100 * activity.idle_ns / activity.span_ns


def named_host_code(tables: Tables) -> float | None:
    """Percent of a GPU's idle time for host code in the function or call that ``diagnose`` names.

    0 where it names none, as none has half of it; None where no frames were recorded.
    """
    if tables["frames"].is_empty():
        return None
    for view in timeline_view.views([Capture("", tables, {}, filling("frames")[0])]):
        idle_ns = sum(track.idle_ns(causes.HOST) for track in view.tracks)
        named = host_code.told(view)
        if idle_ns:
            return 100e6 * named.evidence[0].value / idle_ns if named else 0.0
    return None


def exposed_communication(tables: Tables) -> float | None:
    """Milliseconds of a step in which a GPU only communicates; the mean of the GPUs."""
    name = step.declared(tables)
    steps = 0 if name is None else timeline.steps(tables["ranges"], name).height
    alone = communication.device_time(tables["gpu_ops"])["communication_ns"].mean()
    return None if alone is None or not steps else float(alone) / steps / 1e6  # type: ignore[arg-type]  # a number column


def collective_wait(tables: Tables) -> float | None:
    """Microseconds that a GPU waits in a collective for the last one to come.

    The mean of the GPUs, and of all collectives the middle one, as a profiled step begins when each
    rank's host launches it; None with fewer than two GPUs.
    """
    ranks = tables["gpu_ops"].partition_by("device", maintain_order=True)
    if len(ranks) < 2:
        return None
    waits = communication.collectives(ranks).group_by("number").agg(pl.col("waited_ns").mean())
    middle = waits["waited_ns"].median()
    return None if middle is None else float(middle) / 1e3  # type: ignore[arg-type]  # a number column


def dram_bytes(tables: Tables) -> float | None:
    """Bytes read from and written to device memory by the profiled step's kernels."""
    return _total(per_kernel(tables["counters"])["dram_bytes"])


def kernel_time(tables: Tables) -> float | None:
    """Milliseconds of the profiled step's kernels, one at a time and caches flushed before each."""
    total = _total(per_kernel(tables["counters"])["time_ns"])
    return None if total is None else total / 1e6


def thread_instructions(tables: Tables) -> float | None:
    """Instructions that the threads of the profiled step's longest kernel executed.

    A warp's instruction counts once for each of its threads that executes it.
    """
    counted = of_longest_kernel(tables["counters"])
    by_warps = counted.get("smsp__inst_executed.sum")
    threads = counted.get("smsp__thread_inst_executed_per_inst_executed.ratio")
    return None if by_warps is None or threads is None else by_warps * threads


def _total(column: pl.Series) -> float | None:
    """Return the sum, None if any kernel lacks the value: part of a sum is not the sum."""
    if column.is_empty() or column.null_count():
        return None
    return float(column.sum())


def transient_bytes(tables: Tables) -> float | None:
    """Highest allocated bytes in the measured phase over what stood when it began."""
    phase = step.declared(tables)
    if phase is None:
        return None
    rows = tables["memory_timeline"]
    inside = rows.filter(pl.col("phase").cast(pl.String) == phase.removeprefix("step:"))
    if inside.is_empty():
        return None
    before = rows.filter(pl.col("index") < inside["index"].min())["allocated_bytes"]
    start = before[-1] if len(before) else 0
    return float(inside["allocated_bytes"].max() - start)  # type: ignore[operator]  # integers


MEASURES: dict[str, Callable[[Tables], float | None]] = {
    measure.__name__: measure
    for measure in (
        kernels_per_step,
        gpu_busy_per_step,
        gpu_idle_share,
        named_host_code,
        exposed_communication,
        collective_wait,
        dram_bytes,
        kernel_time,
        thread_instructions,
        transient_bytes,
    )
} | serving.MEASURES
