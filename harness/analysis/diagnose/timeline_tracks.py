"""One device of one capture in its steady state: what a timeline view consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis import communication, copies, floors, intervals, step, trials
from harness.analysis.audit import step_ops
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.serialised_streams import Serialised, serialised
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import (
    graph_captures,
    host_calls,
    host_lead,
    host_state,
    host_waits,
    recording_cost,
)
from harness.analysis.step import Step
from harness.analysis.timeline import device_name
from harness.evidence.capture import Capture


@dataclass(frozen=True)
class Track:
    """One device of one capture in its steady state; every time is in ns.

    ``span_ns`` is how long that state lasts, in the stretches of ``steps``, without the profiler's
    part, known or estimated (recording_cost): of idle time, and of communication with ranks that it
    made late; where steps are apart, also without the ramp at the start of each. ``unprofiled``: it
    is known. ``whole_ns`` is how long the device's operations last, warm-up included.
    ``compute_ns``, ``communication_ns`` and ``copy_ns`` divide the span with idle time, as
    communication.device_time does. In ``host_ns`` the thread that launches most operations was
    neither blocked nor reading a value back (host_waits). ``idle`` holds pieces of idle time with
    their ``cause`` and the profiler's part (recording_cost.COSTS), ``ops`` the operations with
    ``work``, ``memory``, ``trial`` (trials) and ``queued_ns`` (null where the launch is unknown),
    ``calls`` the host's calls with their ``kind``, ``waits`` those of host threads for input
    (host_waits), ``tuning`` the rounds of trials of kernels that have several (trials).
    ``multiprocessors`` is null where neither the capture nor the datasheet says it; ``pinned_rate``
    is what pinned memory is copied at, in bytes per second.
    """

    capture: Capture
    device: int | None
    steps: Step
    whole_ns: int
    span_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    host_ns: int
    ops: pl.DataFrame
    idle: pl.DataFrame
    calls: pl.DataFrame
    waits: pl.DataFrame
    tuning: pl.DataFrame
    multiprocessors: int | None
    pinned_rate: float
    unprofiled: bool = False

    @property
    def source(self) -> str:
        """Return the label of the capture."""
        return self.capture.label

    @property
    def room(self) -> int:
        """Return the multiprocessors, the fewest likely of a GPU that is not known."""
        return self.multiprocessors or thresholds.LEAST_MULTIPROCESSORS

    @cached_property
    def serialised(self) -> Serialised:
        """Return the kernels that waited for another stream's although both fit on the device."""
        return serialised(self.ops, self.room)

    @cached_property
    def floored(self) -> pl.DataFrame:
        """Return the operations with floors and own_ns: each instant is shared by all in it."""
        gpu = floors.rates(self.capture.tables, self.device, self.capture.conditions.get("GPU", ""))
        ops = floors.with_origins(step_ops.shared(self.ops), self.capture.tables["origins"])
        return floors.with_floors(ops, gpu, "own_ns")

    @property
    def stretches(self) -> pl.DataFrame:
        """Return start_ns and end_ns of the time that counts."""
        return self.steps.stretches

    @property
    def busy_ns(self) -> int:
        """Return how long the device ran anything."""
        return self.compute_ns + self.communication_ns + self.copy_ns

    @property
    def recorded_ns(self) -> int:
        """Return how long the steady state lasts in the recording."""
        return self.span_ns + self.taken_off_ns()

    @property
    def where(self) -> str:
        """Return the device's name in findings."""
        return device_name(self.device)

    def idle_ns(self, cause: str) -> int:
        """Return how long the device was idle for that cause."""
        return int(self.gaps_ns(cause).sum())

    def own_ns(self, cause: str, cost: str) -> int:
        """Return the same by another of recording_cost.COSTS."""
        mine = self.idle.filter(pl.col("cause") == cause)
        return int(mine.select(recording_cost.own_ns(cost).sum()).item())

    def taken_off_ns(self, cause: str | None = None, cost: str = "cost") -> int:
        """Return how long it was idle for a cause, or for all, by the profiler alone."""
        mine = self.idle if cause is None else self.idle.filter(pl.col("cause") == cause)
        return recording_cost.taken_off(mine, cost)

    def gaps_ns(self, cause: str) -> pl.Series:
        """Return of each gap that has idle time of a cause how long that is."""
        return self._gaps_ns.get(cause, pl.Series(dtype=pl.Int64))

    @cached_property
    def _gaps_ns(self) -> dict[str, pl.Series]:
        pieces = self.idle.select("cause", "gap", length_ns=recording_cost.own_ns())
        gaps = pieces.group_by("cause", "gap").agg(pl.col("length_ns").sum())
        return {
            cause: rows["length_ns"]
            for (cause,), rows in gaps.filter(pl.col("length_ns") > 0).group_by("cause")
        }

    @property
    def waits_of_launching(self) -> pl.DataFrame:
        """Return the waits for input of threads that launch."""
        launch = self.calls.filter(pl.col("kind") == host_calls.LAUNCH)
        return self.waits.filter(pl.col("thread").is_in(launch["thread"].unique().implode()))

    def large_copies(self, kinds: Sequence[str]) -> pl.DataFrame:
        """Return the copies of such host memory that cost more than their call."""
        large = pl.col("bytes").fill_null(0) > idle_causes.SMALL_BYTES
        copied = pl.col("work") == communication.COPY
        return self.ops.filter(copied, large, pl.col("memory").is_in(kinds))

    def alone_ns(
        self, rows: pl.DataFrame, *, besides: Sequence[str] = (), within: bool = False
    ) -> int:
        """Return how long one of these copies ran, and no kernel or large copy of ``besides`` did.

        ``within`` counts only the time in which a kernel could hide them (hideable).
        """
        if rows.is_empty():
            return 0
        others = self.large_copies(besides).select("start_ns", "end_ns")
        work = pl.concat([self._kernels, others])
        if not within or self._kernels.is_empty():
            return intervals.uncovered(rows, work)
        return intervals.length(intervals.common(intervals.minus(rows, work), self.hideable))

    @cached_property
    def _kernels(self) -> pl.DataFrame:
        work = pl.col("work").is_in([communication.COMPUTE, communication.COMMUNICATE])
        return intervals.union(self.ops.filter(work))

    @cached_property
    def hideable(self) -> pl.DataFrame:
        """Return the time of each stretch in which a kernel could hide a copy."""
        large = self.large_copies((copies.PAGEABLE, copies.PINNED, copies.MANAGED))
        return _hideable(self._kernels, large, self.stretches)

    @cached_property
    def launched(self) -> pl.DataFrame:
        """Return name and grid of the kernels that compute, with their number."""
        compute = (pl.col("kind") == "kernel") & (pl.col("work") == communication.COMPUTE)
        shapes = self.ops.filter(compute).group_by("name", pl.col("grid").cast(pl.String)).len()
        return shapes.sort("name", "grid", nulls_last=True)


def tracks_of(capture: Capture, unprofiled: Mapping[str, float] | None = None) -> list[Track]:
    """Return a track of each device of a capture, by device; none where nothing has a time.

    ``unprofiled``: how long a step takes without a profiler, in ns, by the name of its ranges.
    """
    tables = capture.tables
    steps = step.of(tables)
    stretches = steps.stretches
    every = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    ops = intervals.inside(every, stretches)
    calls = _with_kinds(tables, stretches)
    input_waits = intervals.inside(
        host_waits.for_input(tables["waits"], every, tables["api_calls"]), stretches
    )
    tracks = [
        _track(capture, device, group, steps, calls, input_waits, unprofiled or {})
        for (device,), group in ops.group_by("device", maintain_order=True)
        if intervals.length(_spans(group, stretches))
    ]
    return sorted(tracks, key=lambda track: -1 if track.device is None else track.device)


def _track(
    capture: Capture,
    device: int | None,
    ops: pl.DataFrame,
    steps: Step,
    calls: pl.DataFrame,
    input_waits: pl.DataFrame,
    unprofiled: Mapping[str, float],
) -> Track:
    api_calls, spans = capture.tables["api_calls"], _spans(ops, steps.stretches)
    span = intervals.length(spans)
    times = communication.device_time(ops).row(0, named=True)
    reads = host_waits.reads(ops, calls)
    recorded = recording_cost.of_host(capture, calls)
    host_ns = span - host_waits.blocked_ns(calls, reads)
    host_ns -= min(recording_cost.total_ns(recorded), host_ns)
    busy = sum(times[each] for each in ("compute_ns", "communication_ns", "copy_ns"))
    pieces = intervals.inside(host_state.idle_pieces(ops, api_calls), spans)
    tuning = _repeated(trials.of(ops))
    idle = idle_causes.with_causes(
        recording_cost.with_own_between(pieces, capture),
        ops,
        _with_tuning(_with_captures(capture.tables), tuning, pieces),
        input_waits,
        reads,
        host_is_ahead=host_ns < busy,
    )
    waits = host_lead.recorded_waits(capture.tables, steps.stretches)
    idle = host_lead.with_lost_lead(idle, calls, waits)
    idle = recording_cost.with_estimate(idle, recorded)
    if steps.is_apart and recording_cost.has_operators(capture):
        idle = recording_cost.with_start(idle, spans)
    left = host_lead.without_ramp(idle, spans, calls, waits) if steps.is_apart else idle
    span -= intervals.length(idle) - intervals.length(left)
    alone = unprofiled.get(steps.ranges) if steps.is_apart else None
    late = 0
    if alone is not None:
        excess = max(span - round(alone * steps.stretches.height), 0)
        left = recording_cost.with_known(left, excess)
        late = min(excess - recording_cost.taken_off(left), times["communication_ns"])
    properties = capture.tables["devices"].filter(pl.col("device").eq_missing(device))
    return Track(
        capture=capture,
        device=device,
        steps=steps,
        whole_ns=_length(capture.tables["gpu_ops"], device),
        span_ns=span - recording_cost.taken_off(left) - late,
        compute_ns=times["compute_ns"],
        communication_ns=times["communication_ns"] - late,
        copy_ns=times["copy_ns"],
        host_ns=host_ns,
        ops=_with_trials(_with_queue(ops, api_calls), tuning, capture.tables),
        idle=left,
        calls=calls,
        waits=input_waits,
        tuning=tuning,
        multiprocessors=_multiprocessors(capture, device, properties),
        pinned_rate=_pinned_rate(next(iter(properties["compute_capability"].drop_nulls()), None)),
        unprofiled=alone is not None,
    )


def _repeated(rounds: pl.DataFrame) -> pl.DataFrame:
    """Return the rounds of trials of kernels that have REPEATED of them."""
    return rounds.filter(pl.len().over("kernel") >= thresholds.REPEATED)


def _with_trials(
    ops: pl.DataFrame, tuning: pl.DataFrame, tables: dict[str, pl.DataFrame]
) -> pl.DataFrame:
    """Return the operations with ``trial``: in a round of ``tuning``, or of a call that tries."""
    rounds = intervals.inside(ops, tuning)["start_ns"]
    calls = trials.of_calls(tables["api_calls"], tables["ranges"])
    tried = pl.col("start_ns").is_in(rounds.implode())
    tried |= pl.col("correlation").is_in(calls.implode()).fill_null(value=False)
    return ops.with_columns(trial=tried)


def _with_captures(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the ranges of a capture with the captures of CUDA graphs."""
    captures = graph_captures.of(tables["api_calls"])
    rows = tables["ranges"].select(pl.col("name").cast(pl.String), *captures.columns[1:])
    return pl.concat([rows, captures])


def _with_tuning(ranges: pl.DataFrame, tuning: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """Return ranges with those of trials, on each thread that pieces of idle time in them name."""
    if tuning.is_empty():
        return ranges
    begun = pieces.select("thread", at="start_ns").drop_nulls().sort("at")
    inside = begun.join_asof(tuning.sort("start_ns"), left_on="at", right_on="start_ns")
    marks = inside.filter(pl.col("at") < pl.col("end_ns")).select(
        pl.lit("autotuning").alias("name"),
        "thread",
        "start_ns",
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    return pl.concat([ranges, marks.unique()])


def _spans(ops: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return what operations span of each stretch: start_ns and end_ns, by start."""
    ended = ops.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    placed = intervals.ordered(ended, "start_ns").join_asof(
        stretches.select("start_ns", stretch="start_ns"), on="start_ns", check_sortedness=False
    )
    parts = placed.group_by("stretch").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    return parts.select("start_ns", "end_ns").sort("start_ns")


def _length(gpu_ops: pl.DataFrame, device: int | None) -> int:
    """Return the time from a device's first operation to the end of its last."""
    mine = gpu_ops.filter(pl.col("device").eq_missing(device))
    end = (pl.col("start_ns") + pl.col("duration_ns")).max()
    return int(mine.select(end - pl.col("start_ns").min()).item())


def _with_queue(ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the operations with work, memory and queued_ns."""
    rows = communication.timed_work(ops).with_row_index("row").cast({"row": pl.Int64})
    queued = host_state.queue_times(ops, api_calls).select("row", "queued_ns")
    return rows.join(queued, on="row", how="left", maintain_order="left").drop("row")


def _with_kinds(tables: dict[str, pl.DataFrame], stretches: pl.DataFrame) -> pl.DataFrame:
    timed = tables["api_calls"].drop_nulls(["start_ns", "duration_ns"])
    calls = intervals.inside(timed, stretches)
    return calls.with_columns(host_calls.kinds(calls["name"]))


def _multiprocessors(capture: Capture, device: int | None, properties: pl.DataFrame) -> int | None:
    """Return how many a device has as recorded, else by its datasheet, None where neither says."""
    for recorded in properties["multiprocessors"].drop_nulls():
        return int(recorded)
    sheet = floors.sheet(capture.tables, device, capture.conditions.get("GPU", ""))
    return None if sheet is None else sheet.multiprocessors


def _pinned_rate(capability: str | None) -> float:
    major = int(capability.partition(".")[0]) if capability else 8
    return thresholds.PINNED_RATES[min(max(major, 7), 9)]


def _hideable(kernels: pl.DataFrame, copies: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return of each stretch the time in which a copy could run beside a kernel: start_ns, end_ns.

    It lasts from the first to the last of ``kernels``. The first copy does not count if the kernels
    before it take less time than it does, nor the last one if those after it do. All three:
    start_ns and end_ns, the kernels disjoint. Batches that are copied ahead of their kernels still
    begin with a copy, and results that are fetched behind theirs end with one.
    """
    end = pl.col("end_ns")
    length = end - pl.col("start_ns")
    starts = stretches.select("start_ns", stretch="start_ns").sort("start_ns")
    work, copied = (
        rows.select("start_ns", "end_ns").sort("start_ns").join_asof(starts, on="start_ns")
        for rows in (kernels, copies)
    )
    spans = work.group_by("stretch").agg(pl.col("start_ns").min(), end.max())
    ends = copied.group_by("stretch").agg(
        pl.col("start_ns").min().alias("first_ns"),
        end.sort_by("start_ns").first().alias("arrived_ns"),
        pl.col("start_ns").sort_by("end_ns").last().alias("fetched_ns"),
        end.max().alias("last_ns"),
    )
    beside = (
        work.join(ends, on="stretch")
        .group_by("stretch")
        .agg(
            length.filter(pl.col("start_ns") < pl.col("first_ns")).sum().alias("before"),
            length.filter(pl.col("last_ns") < end).sum().alias("after"),
        )
    )
    ended = spans.join(ends, on="stretch", how="left").join(beside, on="stretch", how="left")
    fills = pl.col("before") < pl.col("arrived_ns") - pl.col("first_ns")
    drains = pl.col("after") < pl.col("last_ns") - pl.col("fetched_ns")
    begin = pl.when(fills).then(pl.max_horizontal("start_ns", "arrived_ns")).otherwise("start_ns")
    until = pl.when(drains).then(pl.min_horizontal("end_ns", "fetched_ns")).otherwise("end_ns")
    return ended.select(start_ns=begin, end_ns=until).sort("start_ns")
