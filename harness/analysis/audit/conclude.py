"""The entry of the audit: the captures of one program become one table of its step."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from harness.analysis import floors, program, step
from harness.analysis import kernels as kernel_names
from harness.analysis.audit import (
    attribution,
    batches,
    by_ranges,
    counted,
    layers,
    limits,
    placed_ops,
    rows,
    step_ops,
)
from harness.analysis.audit.attribution import UNATTRIBUTED
from harness.analysis.audit.batches import Batches
from harness.analysis.audit.layers import Layers
from harness.analysis.audit.limits import TENSOR, Limits
from harness.analysis.audit.rows import Row
from harness.analysis.busy import Busy
from harness.analysis.floors import Floor
from harness.analysis.hint import said
from harness.evidence.capture import Capture
from harness.evidence.kinds import filling, unprofiled
from harness.ground.errors import UnattributedError, UsageError

MOST_UNATTRIBUTED = 0.01
"""The fraction of the GPU's time above which an audit is refused as incomplete."""

_ATTENTION, _BY_TENSOR, _BY_DRAM = (
    "attention",
    "other kernels limited by tensor cores",
    "kernels limited by DRAM",
)
_SAME_CLOCK = 0.98
"""Of the trace's SM clock: below it the difference of a step and its kernels is no idle time."""
_STEP_TIMES = ("gpu_time", "wall_time")
"""The samples that say how long a step is unprofiled, the first that there are."""


@dataclass(frozen=True)
class Audit:
    """A program's step. Times are ms, sizes bytes, a step each; None is not measured.

    ``traced_ms``: the mean step on the timeline, of which ``busy_ms`` the GPU worked, in
    ``overlap_ms`` on two operations or more. ``step_ms``: the step without a profiler. Both have
    their median SM clock, ``traced_mhz`` and ``step_mhz``, where the harness ran them. ``phases``:
    busy ms by phase. ``floor_ms``: the kernels at their measured ceilings, nothing idle, those
    without counters and those bound by latency as they are; ``sustained_floor_ms``: the same with
    products at the rate that the GPU keeps up without rests. ``above_ms``: by kind of kernel, how
    much longer those take than in the second floor, or in the first where there is one alone.
    ``flushed_bytes``: read and written with caches flushed before each kernel, where a second
    report says it. ``flop`` and ``compulsory_bytes``: of a step, where the workload states them.
    ``unsaid``: what these captures cannot say. ``step``: how busy all GPUs of the trace were.
    ``shapes``: the floor of all steps together by their operators' inputs, ns.
    ``batches``: a serving engine's steps by mode. ``replays``: the replays of CUDA graphs whose
    operations are attributed by the capture ``captured_by``. ``layers``: those that repeat.
    """

    label: str
    limits: Limits
    steps: int
    traced_ms: float
    busy_ms: float
    overlap_ms: float
    step_ms: float | None
    traced_mhz: float | None
    step_mhz: float | None
    phases: dict[str, float]
    rows: tuple[Row, ...]
    counted: float
    dram_read_bytes: float | None
    dram_write_bytes: float | None
    flushed_bytes: float | None
    compulsory_bytes: float | None
    flop: float | None
    floor_ms: float | None
    sustained_floor_ms: float | None
    above_ms: dict[str, float]
    unsaid: tuple[str, ...]
    step: Busy | None = None
    shapes: Floor | None = None
    batches: tuple[Batches, ...] = ()
    layers: Layers | None = None
    replays: int = 0
    captured_by: str | None = None

    @property
    def whole_ms(self) -> float:
        """Return the step's length: the unprofiled one where it is known."""
        return self.step_ms or self.traced_ms

    @property
    def shared_ms(self) -> float:
        """Return what shares and gains are of: the unprofiled step, else what the GPU worked.

        A profiler stretches the host's time, and so the step, but hardly what the GPU works.
        """
        return self.step_ms or self.busy_ms

    @property
    def rest_ms(self) -> float:
        """Return how much longer the step is than the trace's kernels; 0 where it is not."""
        return max(0.0, self.whole_ms - self.busy_ms)

    @property
    def slower_clock(self) -> bool:
        """Return whether the unprofiled step ran at a lower clock than the traced one."""
        if self.step_ms is None or self.step_mhz is None or self.traced_mhz is None:
            return False
        return self.step_mhz < _SAME_CLOCK * self.traced_mhz

    @property
    def unattributed(self) -> float:
        """Return the fraction of the busy time that no operator, module or graph launched."""
        return self.phases.get(UNATTRIBUTED, 0.0) / self.busy_ms

    def saved_ms(self, place: int) -> float:
        """Return what all rows save together at the target in that place."""
        return sum(row.savings[place].ms for row in self.rows if len(row.savings) > place)

    def complete(self) -> None:
        """Raise UnattributedError where too much of the time is unattributed."""
        if self.unattributed > MOST_UNATTRIBUTED:
            raise UnattributedError(
                f"{100 * self.unattributed:.1f} % of the GPU's time is unattributed,"
                f" more than {100 * MOST_UNATTRIBUTED:.0f} %",
                where=self.label,
                remedy="record CPU and CUDA activities of whole steps in one trace",
            )


def audit(captures: Sequence[Capture], captured_by: Capture | None = None) -> Audit:
    """Return the audit of one program's captures: a timeline, counters, times.

    A trace of torch.profiler tells operators and modules, another timeline the ranges around each
    launch. ``captured_by``: the trace in which the program's CUDA graphs were captured, if that is
    another one. Raises UsageError without a timeline.
    """
    telling = [each for each in captures if each.kind in filling("origins")]
    trace = _one(telling, "gpu_ops", "torch.profiler trace")
    if trace is None:
        trace = _by_ranges(captures)
    elif _is_older(trace):
        raise UsageError(
            "this evidence does not hold what launched each operation",
            where=trace.label,
            remedy="name the trace among the report's captures, or extract the run again",
        )
    warm, cold = _reports(captures)
    launched = step_ops.launched(trace.tables)
    if not any(launched.busy_ns):
        raise UsageError("no timed work on a GPU in it", where=trace.label)
    peaks = limits.limits(trace.tables, trace.conditions.get("GPU", ""))
    captured = (captured_by or trace).tables["captured_launches"]
    ops, placed = placed_ops.placed(launched.ops, trace.tables, captured)
    flushed = counted.moved(ops, (cold or trace).tables["counters"])
    ops = counted.with_counters(ops, (warm or trace).tables["counters"])
    gpu = floors.rates(trace.tables, ops["device"][0], trace.conditions.get("GPU", ""))
    ops = floors.with_floors(ops, gpu, "own_ns")
    ops = limits.with_use(ops.with_columns(flushed.alias("flushed_bytes")), peaks)
    concluded = _concluded(captures, trace, launched, ops, peaks)
    if placed is None:
        return concluded
    return replace(
        concluded,
        unsaid=(*concluded.unsaid, *placed_ops.unplaced(placed)),
        replays=placed.placed,
        captured_by=(captured_by or trace).label,
    )


def _by_ranges(captures: Sequence[Capture]) -> Capture:
    """Return the timeline that has ranges but no operators; UsageError without one."""
    timelines = [each for each in captures if each.kind in filling("ranges")]
    timeline = _one(timelines, "gpu_ops", "timeline")
    if timeline is None:
        snapshots = captures and all(each.kind in filling("memory_timeline") for each in captures)
        raise UsageError(
            "a memory snapshot, which times nothing on the GPU"
            if snapshots
            else "no capture says which operators launched the GPU's work",
            where=captures[0].label if captures else None,
            remedy="name a trace of torch.profiler with CPU and CUDA activities",
        )
    origins = by_ranges.origins(timeline.tables)
    return replace(timeline, tables=timeline.tables | {"origins": origins})


def _is_older(trace: Capture) -> bool:
    """Return whether a trace's evidence is of a harness that knew launches but kept no origins."""
    named = trace.tables["operators"].filter(pl.col("name") != UNATTRIBUTED)
    return trace.tables["origins"].is_empty() and bool(named["device_ns"].sum())


def _one(captures: Sequence[Capture], table: str, what: str) -> Capture | None:
    """Return the capture that fills a table, None without one; UsageError for two."""
    having = [each for each in captures if each.tables[table].height]
    if len(having) > 1:
        raise UsageError(f"{len(having)} captures of this kind: {what}", where=having[1].label)
    return having[0] if having else None


def _reports(captures: Sequence[Capture]) -> tuple[Capture | None, Capture | None]:
    """Return the report by which kernels are judged, and one with flushed caches beside it.

    Nsight Compute flushes caches before each kernel unless told otherwise. In a step they hold what
    the kernel before left, so a report with warm caches is the one that counts.
    """
    having = [each for each in captures if each.tables["counters"].height]
    keeping = [each.conditions.get("cache control") == "none" for each in having]
    kept, flushed = (
        [each for each, kept in zip(having, keeping, strict=True) if kept is wanted]
        for wanted in (True, False)
    )
    cold = _one(flushed, "counters", "Nsight Compute report, caches flushed")
    warm = _one(kept, "counters", "Nsight Compute report, caches kept")
    return (warm, cold) if warm else (cold, None)


def _concluded(
    captures: Sequence[Capture],
    trace: Capture,
    launched: step_ops.LaunchedOps,
    ops: pl.DataFrame,
    peaks: Limits,
) -> Audit:
    steps = len(launched.lengths_ns)
    of = program.of_captures(captures)
    table = tuple(replace(row, fix=said(row.fix, of)) for row in rows.rows(ops, peaks))
    phases = {
        phase: sum(row.ms for row in table if row.phase == phase) for phase in attribution.PHASES
    }
    kernels = ops.filter(pl.col("kind").cast(pl.String) == "kernel")
    has = kernels.filter(pl.col("ncu_time_ns").is_not_null())
    times = [float(kernels["own_ns"].sum()), float(has["own_ns"].sum())]
    share = times[1] / times[0] if times[0] else 0.0
    sustained = peaks.tensor_sustained
    read, write = (
        float(has[f"dram_{way}_bytes"].sum()) / steps if share else None
        for way in ("read", "write")
    )
    return Audit(
        label=trace.label,
        limits=peaks,
        steps=steps,
        traced_ms=statistics.fmean(launched.lengths_ns) / 1e6,
        busy_ms=statistics.fmean(launched.busy_ns) / 1e6,
        overlap_ms=step_ops.overlap_ns(launched) / steps / 1e6,
        step_ms=_unprofiled(captures),
        traced_mhz=_clock([trace]),
        step_mhz=_clock([each for each in captures if each.kind == unprofiled()]),
        phases={phase: ms for phase, ms in phases.items() if ms},
        rows=table,
        counted=share,
        dram_read_bytes=read,
        dram_write_bytes=write,
        flushed_bytes=_mean(ops["flushed_bytes"], steps),
        compulsory_bytes=_fact(captures, "compulsory_bytes"),
        flop=_fact(captures, "step_flop"),
        floor_ms=_floor_ms(table) if share else None,
        sustained_floor_ms=_floor_ms(table, sustained) if share and sustained else None,
        above_ms=_above_ms(table, sustained) if share else {},
        unsaid=tuple(_unsaid([trace, *captures], launched, phases, share, peaks)),
        step=step.busy(trace.tables, launched.steps),
        shapes=floors.floor(ops, "own_ns"),
        batches=batches.by_mode(ops, launched.lengths_ns),
        layers=layers.folded(ops),
    )


def _mean(column: pl.Series, steps: int) -> float | None:
    """Return a column's sum a step, None where it has no value."""
    return float(column.sum()) / steps if column.drop_nulls().len() else None


def _unprofiled(captures: Sequence[Capture]) -> float | None:
    """Return the ms of a step without a profiler, None where it was not measured."""
    for capture in captures:
        samples = capture.tables["samples"].filter(pl.col("mark").fill_null("") != "warm-up")
        for metric in _STEP_TIMES if capture.kind == unprofiled() else ():
            values = samples.filter(pl.col("metric") == metric, pl.col("unit") == "ms")["value"]
            if len(values):
                return float(statistics.median(values))
    return None


def _clock(captures: Sequence[Capture]) -> float | None:
    """Return the mean over cells of their median SM clock in MHz, None where none was watched."""
    clocks = [mhz for each in captures for mhz in each.tables["cells"]["sm_mhz"].drop_nulls()]
    return statistics.fmean(clocks) if clocks else None


def _fact(captures: Sequence[Capture], name: str) -> float | None:
    """Return a number that the workload stated, None where it did not."""
    for capture in captures:
        values = capture.tables["facts"].filter(pl.col("name") == name)["value"].drop_nulls()
        if len(values):
            return float(values[0])
    return None


def _unsaid(
    captures: Sequence[Capture],
    launched: step_ops.LaunchedOps,
    phases: dict[str, float],
    share: float,
    peaks: Limits,
) -> "list[str]":
    """Return a sentence on each thing that the captures lack, those of the timeline first."""
    lacks = []
    if captures[0].kind not in filling("origins"):
        lacks.append(
            "No operators and modules: paths are NVTX ranges, the backward pass is what autograd's"
            " threads launched, and what is in no range is outside. A trace of torch.profiler says"
            " more."
        )
    if launched.steps.rule == "whole":
        lacks.append("No range marks steps, so all that repeats counts as one step.")
    if launched.before_ns:
        lacks.append(
            f"{launched.before_ns / 1e6:.2f} ms of operations ran before the first step's and have"
            " no launch in the trace: they are in no step."
        )
    if _unprofiled(captures) is None:
        lacks.append("No unprofiled time: shares are of the GPU's work, not of a step.")
    if not share:
        lacks.append("No hardware counters: no bytes, no use of the peaks, no headroom.")
    elif share < 1 - MOST_UNATTRIBUTED:
        lacks.append(
            f"{100 * (1 - share):.1f} % of the kernels' time has no counters: both captures do not"
            " count as many launches of those kernels."
        )
    if share and peaks.dram_reached is None:
        lacks.append("No measured ceilings of this GPU: the floor takes 85 % of the peaks.")
    graph, busy = phases[attribution.GRAPH], sum(phases.values())
    if graph:
        lacks.append(
            f"{100 * graph / busy:.1f} % of the GPU's time is replayed from CUDA graphs: the trace"
            " names the graph's launch and no operator. Record the step without graphs as well, or"
            " name the trace of the graphs' capture: --captured-by."
        )
    return lacks


def _floor_ms(table: Sequence[Row], tensor: float | None = None) -> float:
    """Return the ms of a step in which every kernel that has targets reaches its last one.

    ``tensor``: the fraction of their peak that products reach instead.
    """
    return sum(_at_best(row, tensor) for row in table)


def _above_ms(table: Sequence[Row], tensor: float | None = None) -> dict[str, float]:
    """Return by kind of kernel how many ms longer those take than in the floor, the most first."""
    above: dict[str, float] = {}
    for row in table:
        more = row.ms - _at_best(row, tensor)
        if more > 0:
            kind = _limited_by(row)
            above[kind] = above.get(kind, 0.0) + more
    return dict(sorted(above.items(), key=lambda pair: pair[1], reverse=True))


def _limited_by(row: Row) -> str:
    """Return the kind of a kernel that tensor cores or DRAM limit."""
    if kernel_names.family(row.kernel) == _ATTENTION:
        return _ATTENTION
    return _BY_TENSOR if row.limit == TENSOR else _BY_DRAM


def _at_best(row: Row, tensor: float | None) -> float:
    if tensor is not None and row.limit == TENSOR and row.used is not None:
        return row.ms * min(1.0, row.used / tensor)
    return row.ms - (row.savings[-1].ms if row.savings else 0.0)
