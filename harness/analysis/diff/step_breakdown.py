"""Where the time of a step goes, in whole nanoseconds: what ran, what overlapped, what waited.

A declared step lasts from the start of its range, or of its first GPU operation if that is earlier,
until the end of both; any other as harness.analysis.step says. Within it

    length = sum of the operations' durations - overlap + gaps

exactly, on each device; with several, the times of a step are summed over them. A gap is split by
what the host did meanwhile: it waited in a synchronising call, it was inside another CUDA call
(launching), or in neither (running Python, the framework, all else). Of the host count those
threads that launched work on the device.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl

from harness.analysis import intervals, repeats, step, timeline
from harness.analysis.diff.paths import with_paths
from harness.analysis.step import Step
from harness.evidence.tables import Tables

Span = tuple[int, int]
_SPAN = ("start_ns", "end_ns")
_VERSION = re.compile(r"_v\d+$")
"""The end that nsys gives to the names of calls that have several versions: cudaLaunch_v7000."""
_SYNC = "(?i)synchronize"
GAPS = ("host", "launch", "wait")
"""What the host did while no operation ran: none of CUDA, a CUDA call, a synchronising call."""


@dataclass(frozen=True)
class StepTimes:
    """One step's time: its length in ns, what of it two operations shared, and its gaps by GAPS."""

    length_ns: int
    overlap_ns: int
    gaps_ns: tuple[int, ...]


@dataclass(frozen=True)
class Breakdown:
    """The steps of a capture on each of its devices, and their GPU operations.

    ``ops`` has each operation's ``step``, and its ``path``: the innermost range around its launch
    but for the step's own, null where there is none.

    ``step`` says what the steps are: the whole capture, from its first operation to the end of its
    last, where no ranges mark them. ``marked``: how many ranges a step holds; more than 1 where the
    GPU works on one while it still works on the one before. ``windows``: start and end of each
    step, in ns.
    """

    step: Step
    marked: int
    windows: tuple[Span, ...]
    by_device: Mapping[int | None, tuple[StepTimes, ...]]
    ops: pl.DataFrame

    @property
    def count(self) -> int:
        """Return the number of steps."""
        return len(next(iter(self.by_device.values()), ()))

    @property
    def steps(self) -> tuple[StepTimes, ...]:
        """Return the steps with their times summed over the devices."""
        return tuple(_together(step) for step in zip(*self.by_device.values(), strict=True))

    def last(self, count: int) -> "Breakdown":
        """Return the last ``count`` steps, numbered from 0."""
        first = self.count - count
        ops = self.ops.filter(pl.col("step") >= first)
        by_device = {device: steps[first:] for device, steps in self.by_device.items()}
        ops = ops.with_columns(pl.col("step") - first)
        kept = replace(self.step, count=self.step.count - first * self.marked)
        return replace(self, step=kept, windows=self.windows[first:], by_device=by_device, ops=ops)

    def on(self, device: int | None) -> "Breakdown":
        """Return the steps on one device."""
        ops = self.ops.filter(pl.col("device").eq_missing(pl.lit(device, pl.Int64)))
        return replace(self, by_device={device: self.by_device[device]}, ops=ops)


def of_both(a: Tables, b: Tables, name: str | None = None) -> tuple[Breakdown, Breakdown]:
    """Return the steps of two captures: those that ranges of ``name`` mark, or else ranges at all.

    Where ranges of the programs' own have different names, each capture is one step: they need not
    mark the same work.
    """
    first, second = steps(a, name), steps(b, name)
    own = "ranges" in (first.step.rule, second.step.rule)
    if own and first.step.ranges != second.step.ranges:
        return _divided(a, _whole(a)), _divided(b, _whole(b))
    return first, second


def steps(tables: Tables, name: str | None = None) -> Breakdown:
    """Return the steps that ranges called ``name`` mark, or else those that ranges mark.

    All is one step where none do, as two captures need not repeat the same work by themselves, or
    where ranges of several names do, as nobody says which is meant.
    """
    marked = step.of(tables, name)
    several = step.AND in marked.ranges and marked.rule == "declared" and name is None
    return _divided(tables, marked if marked.ranges and not several else _whole(tables))


def _whole(tables: Tables) -> Step:
    return step.whole(tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"]))


def _divided(tables: Tables, of_capture: Step) -> Breakdown:
    """Return where the time of these steps goes."""
    calls, ranges = tables["api_calls"], step.unnumbered(tables["ranges"])
    inside, marked = of_capture.ops, 1
    windows = _windows(of_capture, ranges)
    if any(after[0] < before[1] for before, after in pairwise(windows)):  # steps run into another
        marked = len(windows)
        windows = [(windows[0][0], max(end for _, end in windows))]
        inside = inside.with_columns(pl.lit(0, pl.Int64).alias("step"))
    inside = _with_strays(tables, inside, windows)
    own = of_capture.ranges
    others = ranges.filter(pl.col("name") != own, repeats.with_series(ranges)["name"] != own)
    inside = with_paths(inside.cast({"name": pl.String}), of_launchers(calls, inside), others)
    by_device = {
        device: _of_device(windows, of_device, of_launchers(calls, of_device))
        for (device,), of_device in sorted(
            inside.partition_by("device", as_dict=True).items(), key=str
        )
    }
    return Breakdown(of_capture, marked, tuple(windows), by_device, inside)


def _with_strays(tables: Tables, inside: pl.DataFrame, windows: Sequence[Span]) -> pl.DataFrame:
    """Return the operations of steps, with those of no known launch that ran within a step's time.

    They were launched before the recording began; a step's device was not idle meanwhile.
    """
    ops = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    known = tables["api_calls"]["correlation"].drop_nulls().unique()
    launched = pl.col("correlation").is_in(known.implode()).fill_null(value=False)
    place = [name for name in _SAME_OPERATION if name in inside.columns]
    strays = ops.filter(~launched).join(inside, on=place, how="anti", nulls_equal=True)
    if strays.is_empty():
        return inside
    schema = {"from_ns": pl.Int64, "until_ns": pl.Int64}
    spans = pl.DataFrame(list(windows), schema=schema, orient="row").with_row_index("step")
    placed = strays.sort("start_ns").join_asof(
        spans.sort("from_ns"), left_on="start_ns", right_on="from_ns", check_sortedness=False
    )
    within = pl.col("start_ns") + pl.col("duration_ns") <= pl.col("until_ns")
    of_devices = pl.col("device").is_in(inside["device"].unique().implode(), nulls_equal=True)
    found = placed.filter(within, of_devices).cast({"step": pl.Int64})
    return pl.concat([inside, found.select(inside.columns)])


_SAME_OPERATION = ("device", "stream", "start_ns", "duration_ns", "correlation")


def _of_device(
    windows: Sequence[Span], ops: pl.DataFrame, calls: pl.DataFrame
) -> tuple[StepTimes, ...]:
    length = pl.col("end_ns") - pl.col("start_ns")
    ran = timed(ops, "step")
    gaps = idle(windows, intervals.union(ran, by="step"))
    waited, called = (
        common(gaps, intervals.union(timed(calls.filter(kind)))) for kind in _kinds_of_call()
    )
    of_gaps = gaps.select("step", length.alias("unused"), called=called, waited=waited)
    ran_ns = dict(ran.group_by("step").agg(length.sum()).iter_rows())
    times = []
    for at, unused, in_call, in_wait in of_gaps.group_by("step").sum().sort("step").iter_rows():
        window_ns = windows[at][1] - windows[at][0]
        overlap_ns = ran_ns.get(at, 0) - (window_ns - unused)
        parts = (unused - in_call, in_call - in_wait, in_wait)
        times.append(StepTimes(window_ns, overlap_ns, parts))
    return tuple(times)


def _together(devices: Sequence[StepTimes]) -> StepTimes:
    """Return the sum of one step's times on several devices."""
    return StepTimes(
        sum(step.length_ns for step in devices),
        sum(step.overlap_ns for step in devices),
        tuple(map(sum, zip(*(step.gaps_ns for step in devices), strict=True))),
    )


def waits(name: str) -> bool:
    """Return whether a call of this name waits for the GPU."""
    return re.search(_SYNC, name) is not None


def of_launchers(calls: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of threads that launched any of ``ops``: others hold nothing up."""
    launches = pl.col("correlation").is_in(ops["correlation"].drop_nulls().unique().implode())
    threads = calls.filter(launches)["thread"].unique()
    return calls.filter(pl.col("thread").is_in(threads.implode())) if len(threads) else calls


def _kinds_of_call() -> Iterator[pl.Expr]:
    """Yield the filter of calls that wait for the GPU, then the filter of all calls."""
    waits = pl.col("name").cast(pl.String).str.contains(_SYNC)
    yield waits
    yield pl.lit(value=True)


def _windows(of_capture: Step, ranges: pl.DataFrame) -> list[Span]:
    """Return start and end of each step; of a declared one, with its range."""
    rows = step.windows(of_capture.ops, apart=of_capture.is_apart).sort("step")
    if of_capture.rule != "declared":
        return rows.select("start_ns", "end_ns").rows()
    ends = {number: span for number, *span in rows.iter_rows()}
    return [
        (min(start, ends[at][0]), max(end, ends[at][1])) if at in ends else (start, end)
        for at, start, end in timeline.steps(ranges, of_capture.ranges)
        .select("step", "start_ns", "end_ns")
        .iter_rows()
    ]


def idle(windows: Sequence[Span], busy: pl.DataFrame) -> pl.DataFrame:
    """Return step, start_ns and end_ns of the times of steps in which nothing ran.

    ``busy``: step, start_ns and end_ns of disjoint stretches, within the step's window.
    """
    steps = pl.DataFrame(windows, schema=dict.fromkeys(_SPAN, pl.Int64), orient="row").select(
        pl.int_range(pl.len()).alias("step"), *_SPAN
    )
    # A gap starts with the window or as an operation ends, and the next one to start is its end.
    starts, ends = (
        intervals.ordered(
            pl.concat([steps.select("step", at=own), busy.select("step", at=other)]), "step", "at"
        )
        for own, other in (_SPAN, _SPAN[::-1])
    )
    return starts.rename({"at": "start_ns"}).with_columns(end_ns=ends["at"])


def timed(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return ``columns``, start_ns and end_ns of the calls or operations that were timed."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    rows = rows.drop_nulls(["start_ns", "duration_ns"])
    return rows.select(*columns, "start_ns", end.alias("end_ns"))


def common(spans: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Return the ns of each of ``spans`` that the disjoint, sorted ``others`` cover."""
    lengths = others["end_ns"] - others["start_ns"]
    before = pl.concat([pl.Series([0]), lengths.cum_sum()])
    ends = pl.concat([pl.Series([None], dtype=pl.Int64), others["end_ns"]])

    def until(at: pl.Series) -> pl.Series:
        count = others["start_ns"].search_sorted(at, side="right")
        return before.gather(count) - (ends.gather(count) - at).clip(0).fill_null(0)

    return until(spans["end_ns"]) - until(spans["start_ns"])


def idle_by_call(steps: Breakdown, calls: pl.DataFrame) -> dict[str, int]:
    """Return the idle ns of all steps and devices by the name of the call that the host was in.

    Calls of threads that launched work on the device count, as for the parts of a step; where two
    threads, or nested calls, are in calls of two names, both names have the time.
    """
    held_ns: Counter[str] = Counter()
    for (_,), ops in steps.ops.partition_by("device", as_dict=True).items():
        gaps = idle(steps.windows, intervals.union(timed(ops, "step"), by="step"))
        of_device = of_launchers(calls, ops).cast({"name": pl.String})
        for (name,), named in of_device.partition_by("name", as_dict=True).items():
            held = common(intervals.union(timed(named)), gaps).sum()
            held_ns[_VERSION.sub("", str(name))] += int(held)
    return {name: held for name, held in sorted(held_ns.items()) if held}
