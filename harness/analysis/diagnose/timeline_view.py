"""What findings on timelines read: each device of each capture of one program, in its steady state.

Several captures of one kind are the program's ranks. Of several kinds, which are several recordings
of the same run, only the one whose recording slows the program least is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import polars as pl

from harness.analysis import communication, step
from harness.analysis.busy import Busy
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.ranks import Ranks
from harness.analysis.diagnose.timeline_tracks import Track, tracks_of
from harness.analysis.idle import causes as idle_causes
from harness.analysis.measured import US_OF
from harness.analysis.recording import conditions_of
from harness.evidence.capture import Capture
from harness.evidence.kinds import by_cost


@dataclass(frozen=True)
class TimelineView:
    """The timelines of one program; ``busy``: how busy its GPUs were, in its steps.

    ``all_ranks``: whether there is no rank that was not recorded, as far as the captures tell.
    """

    tracks: tuple[Track, ...]
    busy: Busy | None = None
    all_ranks: bool = False

    @property
    def span_ns(self) -> int:
        """Return the sum of the devices' times, of which findings state fractions."""
        return sum(track.span_ns for track in self.tracks)

    @property
    def where(self) -> str:
        """Return the devices' names in findings, and how much of the capture counts."""
        names = ", ".join(sorted({track.where for track in self.tracks}))
        captures = len({track.source for track in self.tracks})
        several = f" of {captures} captures" if captures > 1 else ""
        steady, whole = (
            sum(getattr(track, part) for track in self.tracks)
            for part in ("recorded_ns", "whole_ns")
        )
        if steady >= whole * thresholds.WHOLE:
            return f"{names}{several}"
        return f"{names}{several}, {steady / 1e6:.1f} ms in steady state of {whole / 1e6:.1f} ms"

    @property
    def source(self) -> str:
        """Return the labels of the captures."""
        return ", ".join(dict.fromkeys(track.source for track in self.tracks))

    def repeats(self, cause: str) -> bool:
        """Return whether a cause explains several gaps, and its longest not nearly all of it.

        Of a host outside CUDA also whether the recording shows more idle time than TIME_SLICE_NS
        while it was that, or launched.
        """
        lengths = pl.concat([track.gaps_ns(cause) for track in self.tracks])
        of_input = cause == idle_causes.DATA
        least = thresholds.REPEATED_INPUT if of_input else max(thresholds.REPEATED, self.steps)
        if len(lengths) < least:
            return False
        recorded = sum(
            track.idle_ns(each) + track.taken_off_ns(each)
            for track in self.tracks
            for each in (idle_causes.HOST, idle_causes.LAUNCH)
        )
        if cause == idle_causes.HOST and recorded < thresholds.TIME_SLICE_NS:
            return False
        return bool(lengths.max() <= lengths.sum() * thresholds.ONE_GAP)  # type: ignore[operator]

    @property
    def outer_copies(self) -> float:
        """Return the fraction of time of copies before the first and after the last kernel."""
        copied = [
            (track, track.ops.filter(pl.col("work") == communication.COPY)) for track in self.tracks
        ]
        outside = (
            track.alone_ns(rows) - track.alone_ns(rows, within=True) for track, rows in copied
        )
        return self.fraction(sum(outside))

    @property
    def steps(self) -> int:
        """Return the number of measured steps of one device, 1 where they are not apart."""
        return min(track.stretches.height for track in self.tracks)

    @property
    def unmarked(self) -> bool:
        """Return whether a capture lacks marked steps, so that any stretch of it may be seen."""
        return not all(track.steps.is_apart for track in self.tracks)

    @property
    def unprofiled(self) -> bool:
        """Return whether it is known how long the steps take without a profiler."""
        return all(track.unprofiled for track in self.tracks)

    @property
    def operations(self) -> int:
        """Return the number of operations in the steady state."""
        return sum(track.ops.height for track in self.tracks)

    @property
    def once(self) -> float:
        """Return the fraction of time that is idle for causes that do not repeat."""
        return sum(map(self.idle, self.once_only))

    @property
    def once_only(self) -> list[str]:
        """Return the causes that do not repeat.

        What follows a copy counts to the copy, which explains its own time even once.
        """
        named = (cause for cause in idle_causes.NAMED if cause != idle_causes.PAGEABLE)
        return [cause for cause in named if not self.repeats(cause)]

    @cached_property
    def ranks(self) -> Ranks:
        """Return the devices beside each other."""
        return Ranks(self.tracks)

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

    @property
    def communication(self) -> float:
        """Return the fraction of the devices' time in which they only communicate."""
        return self.fraction(sum(track.communication_ns for track in self.tracks))

    def count(self, cause: str) -> int:
        """Return how many gaps hold idle time of a cause."""
        return sum(len(track.gaps_ns(cause)) for track in self.tracks)

    def number(
        self, metric: str, value: float, unit: str = "", threshold: float | None = None
    ) -> Evidence:
        """Return evidence from these captures."""
        return Evidence(metric, value, threshold, self.source, unit)

    def percent(self, metric: str, fraction: float, threshold: float | None = None) -> Evidence:
        """Return evidence from these captures that is a fraction, in percent."""
        limit = None if threshold is None else threshold * 100
        return self.number(metric, fraction * 100, "%", limit)

    def large_copies(self, kinds: tuple[str, ...]) -> list[tuple[Track, pl.DataFrame]]:
        """Return each track's copies of such host memory that cost more than their call."""
        return [(track, track.large_copies(kinds)) for track in self.tracks]

    def waits(self) -> pl.DataFrame:
        """Return the steady waits for input of threads that launch, of each capture once."""
        by_source = {track.source: track for track in self.tracks}
        return pl.concat([track.waits_of_launching for track in by_source.values()])

    def called(self, kind: str) -> pl.DataFrame:
        """Return the steady calls of a kind of host_calls, of each capture once."""
        by_source = {track.source: track.calls for track in self.tracks}
        return pl.concat([calls.filter(pl.col("kind") == kind) for calls in by_source.values()])


def views(captures: Sequence[Capture]) -> Sequence[TimelineView]:
    """Return one view of all captures that hold GPU operations; none where nothing has a time."""
    timelines = [each for each in captures if each.tables["gpu_ops"].height]
    kinds = {each.kind for each in timelines}
    cheapest = next((kind.name for kind in by_cost() if kind.name in kinds), None)
    unprofiled = unprofiled_steps(captures)
    by_capture = [
        (each, tracks)
        for each in timelines
        if (cheapest is None or each.kind == cheapest) and (tracks := tracks_of(each, unprofiled))
    ]
    busy = step.together(
        [part for each, (track, *_) in by_capture if (part := step.busy(each.tables, track.steps))]
    )
    every = tuple(track for _, tracks in by_capture for track in tracks)
    if not every:
        return ()
    return (TimelineView(every, busy, _all_ranks([each for each, _ in by_capture], every)),)


def _all_ranks(captures: Sequence[Capture], tracks: Sequence[Track]) -> bool:
    """Return whether every rank was recorded, by the ranks' own number of them if they tell it.

    Where they do not, several devices are taken for all, and one that never communicates.
    """
    ranks = [conditions_of(each).get("rank", "").partition(" of ") for each in captures]
    sizes = {int(size) for _, _, size in ranks if size}
    if sizes:
        return len({rank for rank, _, size in ranks if size}) >= max(sizes)
    alone = not any(track.communication_ns for track in tracks)
    return alone or len(tracks) > 1


def of_two_runs(files: Sequence[Sequence[Capture]]) -> tuple[Capture, Capture] | None:
    """Return two captures of one kind, of different files, that are no ranks of one run.

    Those are ranks whose number differs. Where neither says it, they are ranks if they have no
    device in common, or both communicate. None where there are no two such.
    """
    timelines = [
        (place, each)
        for place, file in enumerate(files)
        for each in file
        if each.tables["gpu_ops"].height
    ]
    for (place, first), (other, second) in combinations(timelines, 2):
        if place != other and first.kind == second.kind and not _may_be_ranks(first, second):
            return first, second
    return None


def _may_be_ranks(*captures: Capture) -> bool:
    ranks = [conditions_of(each).get("rank") for each in captures]
    if any(ranks):
        return len(set(ranks)) == len(ranks)
    devices = [set(each.tables["gpu_ops"]["device"].unique()) for each in captures]
    if not set.intersection(*devices):
        return True
    names = [each.tables["gpu_ops"]["name"].drop_nulls().unique() for each in captures]
    return all(any(map(communication.communicates, of)) for of in names)


def unprofiled_steps(captures: Sequence[Capture]) -> dict[str, float]:
    """Return how long measured steps take without a profiler, in ns, by the name of their ranges.

    It is the median of the steps that ran back to back (wall_time), of captures without operations.
    """
    samples = [each.tables["samples"] for each in captures if each.tables["gpu_ops"].is_empty()]
    if not samples:
        return {}
    steady = pl.concat(samples).filter(pl.col("metric") == "wall_time", pl.col("mark") != "warm-up")
    ns = 1e3 * pl.col("value") * pl.col("unit").replace_strict(US_OF, default=None)
    medians = steady.group_by("region").agg(ns.median()).drop_nulls()
    return {f"{step.PREFIX}{region}": value for region, value in medians.iter_rows()}
