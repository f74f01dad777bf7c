"""What findings on timelines read: each device of each capture of one program, in its steady state.

Several captures of one kind are the program's ranks. Of several kinds, which are several recordings
of the same run, only the one whose recording slows the program least is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis import (
    communication,
    host_calls,
    host_state,
    idle_causes,
    intervals,
    steady_state,
)
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.families import Capture
from harness.analysis.diagnose.finding import Evidence
from harness.captures.registry import by_cost
from harness.evidence.tables import SCHEMAS


@dataclass(frozen=True)
class Track:
    """One device of one capture in its steady state; every time is in ns.

    ``span_ns`` is how long that state lasts. ``compute_ns``, ``communication_ns`` and ``copy_ns``
    divide it with idle time, as harness.analysis.communication.device_time does. In ``host_ns`` the
    thread that launches most operations was not blocked. ``idle`` holds
    pieces of idle time with their ``cause``, ``ops`` the operations with ``work`` and ``memory``,
    ``queued_ns`` of each, null where its launch is unknown. ``multiprocessors`` is null where the
    capture does not say it.
    """

    source: str
    device: int | None
    span_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    host_ns: int
    ops: pl.DataFrame
    idle: pl.DataFrame
    calls: pl.DataFrame
    multiprocessors: int | None

    @property
    def busy_ns(self) -> int:
        """Return how long the device ran anything."""
        return self.compute_ns + self.communication_ns + self.copy_ns

    @property
    def where(self) -> str:
        """Return the device's name in findings."""
        return "the GPU" if self.device is None else f"device {self.device}"

    def idle_ns(self, cause: str) -> int:
        """Return how long the device was idle for that cause."""
        return intervals.length(self.idle.filter(pl.col("cause") == cause))

    def alone_ns(self, copies: pl.DataFrame) -> int:
        """Return how long one of ``copies`` ran and no kernel did."""
        return intervals.length(intervals.minus(copies, self._working))

    @cached_property
    def _working(self) -> pl.DataFrame:
        work = pl.col("work").is_in([communication.COMPUTE, communication.COMMUNICATE])
        return intervals.union(self.ops.filter(work))


@dataclass(frozen=True)
class Waits:
    """How long ranks waited in collectives, outside of compute; which track was last most often."""

    total_ns: int
    last: int
    last_share: float


@dataclass(frozen=True)
class TimelineView:
    """The timelines of one program; ``share`` is always 1, as it is the whole subject."""

    tracks: tuple[Track, ...]
    share: float = 1.0

    @property
    def span_ns(self) -> int:
        """Return the sum of the devices' times, of which findings state fractions."""
        return sum(track.span_ns for track in self.tracks)

    @property
    def where(self) -> str:
        """Return the devices' names in findings."""
        names = sorted({track.where for track in self.tracks})
        captures = len({track.source for track in self.tracks})
        return ", ".join(names) + (f" of {captures} captures" if captures > 1 else "")

    @property
    def source(self) -> str:
        """Return the labels of the captures."""
        return ", ".join(dict.fromkeys(track.source for track in self.tracks))

    def repeats(self, cause: str) -> bool:
        """Return whether a cause explains several gaps, and its longest not nearly all of it."""
        length = pl.col("end_ns") - pl.col("start_ns")
        gaps = [
            track.idle.filter(pl.col("cause") == cause).group_by("gap").agg(length.sum())["end_ns"]
            for track in self.tracks
        ]
        lengths = pl.concat(gaps)
        if len(lengths) < thresholds.REPEATED:
            return False
        return bool(max(lengths) <= sum(lengths) * thresholds.ONE_GAP)

    @property
    def unexplained(self) -> float:
        """Return the fraction of idle time whose cause is not known, or happened only once."""
        once = [cause for cause in idle_causes.NAMED if not self.repeats(cause)]
        return sum(map(self.idle, (idle_causes.UNKNOWN, idle_causes.QUEUED, *once)))

    def idle(self, cause: str) -> float:
        """Return the fraction of the devices' time that is idle for a cause."""
        return sum(track.idle_ns(cause) for track in self.tracks) / self.span_ns

    def fraction(self, ns: float) -> float:
        """Return a sum over devices as a fraction of their time."""
        return ns / self.span_ns

    @property
    def compute(self) -> float:
        """Return the fraction of the devices' time in which they compute."""
        return self.fraction(sum(track.compute_ns for track in self.tracks))

    def count(self, cause: str) -> int:
        """Return how many gaps hold idle time of a cause."""
        return sum(
            track.idle.filter(pl.col("cause") == cause)["gap"].n_unique() for track in self.tracks
        )

    def number(
        self, metric: str, value: float, unit: str = "", threshold: float | None = None
    ) -> Evidence:
        """Return evidence from these captures."""
        return Evidence(metric, value, threshold, self.source, unit)

    def percent(self, metric: str, fraction: float, threshold: float | None = None) -> Evidence:
        """Return evidence from these captures that is a fraction, in percent."""
        limit = None if threshold is None else threshold * 100
        return self.number(metric, fraction * 100, "%", limit)

    def host_code_ns(self) -> float | None:
        """Return the median time that the host was outside CUDA where that was too long."""
        rows = pl.concat([track.idle for track in self.tracks])
        long = pl.col("between_ns") >= idle_causes.LONG_NS
        return rows.filter(pl.col("cause") == idle_causes.HOST, long)["between_ns"].median()  # type: ignore[return-value]  # integers

    def kernel_evidence(self) -> tuple[Evidence, ...]:
        """Return the median duration of kernels and the median time from launch to start."""
        kernels = pl.concat(
            [track.ops.select("kind", "duration_ns", "queued_ns") for track in self.tracks]
        ).filter(pl.col("kind") == "kernel")
        medians = (
            ("median kernel", kernels["duration_ns"].median()),
            ("median from launch to start", kernels["queued_ns"].median()),
        )
        return tuple(
            self.number(name, float(value) / 1e3, "µs")  # type: ignore[arg-type]  # integers
            for name, value in medians
            if value is not None
        )

    def large_copies(self, kinds: tuple[str, ...]) -> list[tuple[Track, pl.DataFrame]]:
        """Return each track's copies of such host memory that cost more than their call."""
        large = pl.col("bytes").fill_null(0) > idle_causes.SMALL_BYTES
        wanted = (pl.col("work") == communication.COPY) & pl.col("memory").is_in(kinds) & large
        return [(track, track.ops.filter(wanted)) for track in self.tracks]

    def waits(self) -> Waits | None:
        """Return the waits in collectives of all tracks; None where there are no such."""
        columns = list(SCHEMAS["gpu_ops"])
        ranks = [track.ops.select(columns) for track in self.tracks]
        found = communication.collectives(ranks) if len(ranks) > 1 else None
        if found is None or found.is_empty():
            return None
        total = 0
        for number, track in enumerate(self.tracks):
            waited = int(found.filter(pl.col("rank") == number)["waited_ns"].sum())
            total += min(waited, track.communication_ns)
        last = found.filter(pl.col("waited_ns") == pl.col("waited_ns").min().over("number"))
        counts = last.group_by("rank").len().sort("len", "rank", descending=[True, False])
        share = counts["len"][0] / found["number"].n_unique()
        return Waits(total, int(counts["rank"][0]), share)

    def called(self, kind: str) -> pl.DataFrame:
        """Return the steady calls of a kind of host_calls, of each capture once."""
        by_source = {track.source: track.calls for track in self.tracks}
        return pl.concat([calls.filter(pl.col("kind") == kind) for calls in by_source.values()])


def views(captures: Sequence[Capture]) -> Sequence[TimelineView]:
    """Return one view of all captures that hold GPU operations; none where nothing has a time."""
    timelines = [each for each in captures if each.tables["gpu_ops"].height]
    kinds = {each.kind for each in timelines}
    cheapest = next((kind.name for kind in by_cost() if kind.name in kinds), None)
    tracks = [
        track
        for each in timelines
        if cheapest is None or each.kind == cheapest
        for track in _tracks(each)
    ]
    return (TimelineView(tuple(tracks)),) if tracks else ()


def _tracks(capture: Capture) -> list[Track]:
    tables = capture.tables
    stretches = steady_state.windows(tables)
    every = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    ops = steady_state.inside(every, stretches)
    calls = _with_kinds(tables["api_calls"], stretches)
    queued = host_state.queue_times(ops, tables["api_calls"]).select("row", "queued_ns")
    numbered = ops.with_row_index("row").cast({"row": pl.Int64})
    ops = numbered.join(queued, on="row", how="left", maintain_order="left").drop("row")
    tracks = []
    for (device,), group in ops.group_by("device", maintain_order=True):
        spans = _spans(group, stretches)
        span = intervals.length(spans)
        if not span:
            continue
        times = communication.device_time(group).row(0, named=True)
        host_ns = span - _waited(calls, group, tables["api_calls"])
        pieces = host_state.idle_pieces(group, tables["api_calls"])
        pieces = steady_state.inside(pieces, spans)
        busy = times["span_ns"] - times["idle_ns"]
        causes = idle_causes.with_causes(
            pieces, group, tables["api_calls"], tables["ranges"], host_is_ahead=host_ns < busy
        )
        tracks.append(
            Track(
                capture.label,
                device,
                span,
                times["compute_ns"],
                times["communication_ns"],
                times["copy_ns"],
                host_ns,
                communication.timed_work(group),
                causes,
                calls,
                _multiprocessors(tables["devices"], device),
            )
        )
    return sorted(tracks, key=lambda track: -1 if track.device is None else track.device)


def _spans(ops: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return what the device's own operations span of each stretch."""
    ended = ops.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns")).sort("start_ns")
    placed = ended.join_asof(
        stretches.select("start_ns", stretch="start_ns"), on="start_ns", check_sortedness=False
    )
    return (
        placed.group_by("stretch")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        .select("start_ns", "end_ns")
        .sort("start_ns")
    )


def _with_kinds(api_calls: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    calls = steady_state.inside(api_calls.drop_nulls(["start_ns", "duration_ns"]), stretches)
    calls = calls.cast({"name": pl.String})
    names = calls["name"].drop_nulls().unique()
    kinds = pl.Series([host_calls.kind(name) for name in names], dtype=pl.String)
    named = pl.DataFrame({"name": names, "kind": kinds}, schema_overrides={"name": pl.String})
    return calls.join(named, on="name", how="left", maintain_order="left")


def _waited(calls: pl.DataFrame, ops: pl.DataFrame, api_calls: pl.DataFrame) -> int:
    """Return how long the thread that launched most operations was blocked by the device."""
    threads = host_state.launches(ops, api_calls)["thread"].mode()
    blocking = (pl.col("kind") == host_calls.SYNCHRONISE) | (
        (pl.col("kind") == host_calls.COPY) & (pl.col("duration_ns") > idle_causes.LONG_NS)
    )
    mine = calls.filter(pl.col("thread").is_in(threads.head(1).implode()), blocking)
    return intervals.length(
        intervals.union(mine.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")))
    )


def _multiprocessors(devices: pl.DataFrame, device: object) -> int | None:
    found = devices.filter(pl.col("device") == device)["multiprocessors"].drop_nulls()
    return int(found[0]) if len(found) else None
