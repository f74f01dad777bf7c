"""What is wrong with a recording: where a timeline contradicts itself, or lacks what it names.

Pure functions of one capture's tables and conditions. Each flaw follows from the capture's own
facts, by a rule that no sound recording breaks: a launch has its kernel, kernels of one stream run
one after another, none begins before its launch, none still runs when the host has waited for it.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from harness.analysis import communication, intervals
from harness.analysis.flaw_launches import Launches, launches, named
from harness.analysis.hint import for_nvidia, for_torch
from harness.analysis.recording import Flaw, conditions_of
from harness.analysis.timeline import device_name
from harness.evidence import dropped
from harness.evidence.capture import SAID, Capture
from harness.evidence.tables import Tables, empty

_TIMELINE = frozenset({"gpu_ops", "api_calls"})

CLOCK_NS = 20_000
"""An error of the clocks that changes no conclusion: the shortest stretch of host code that the
diagnosis tells from launching (harness.analysis.idle.causes.LONG_NS)."""
_OVERLAP = 0.01
"""Of the time that a stream's kernels cover: less may overlap, as the time stamps of a few are off
in sound recordings, too."""
_ROUNDED_NS = 1_000
"""Torch traces of 2021 to 2023 hold whole microseconds, so neighbours may overlap by one."""
_DEEP = 2.0
"""By PDL a kernel may begin while the one ahead of it ends: two at a time, so that kernels that add
up to more than twice the time that they cover were not one after another."""
_WAITS = r"^(cudaDeviceSynchronize|cudaThreadSynchronize|cuCtxSynchronize|hipDeviceSynchronize)"
_TOGETHER = r"(?i)(nccl|rccl).*(all_?reduce|all_?gather|reduce_?scatter)"
"""Collectives that end on no rank before they have begun on all."""
_ON_GPU = pl.when(pl.col("table") == "gpu_ops")
_AGAIN = "record again; if it stays so, with another version of the profiler"
_WHOLE_GPU = (
    "profile on a GPU that is no virtual one, and no MIG instance that shares units with others,"
    " with a profiler that knows the GPU"
)
# CUPTI hands its records over when a buffer is full, at synchronisation and at the process's end
# (https://developer.nvidia.com/blog/pro-tip-clean-up-after-yourself-ensure-correct-profiling/).
_KEEP = (
    "wait for the device before recording ends, let the process end by itself, run no second"
    " profiler beside, and take one no older than the driver"
)
_CALLS = (
    "record all host calls ("
    + for_nvidia("nsys --trace=cuda", otherwise="rocprofv3 --sys-trace")
    + for_torch(", ProfilerActivity.CPU")
    + ")"
)


def flaws(capture: Capture) -> tuple[Flaw, ...]:
    """Return the flaws of a capture, those first that damage most of it; none if it is whole."""
    found = [*_dropped(capture), *_said(capture)]
    known = capture.tables.keys() >= _TIMELINE
    if known and any(capture.tables[name].height for name in _TIMELINE):
        linked = launches(capture)
        found += [*_launched(linked, _dropped_ops(capture)), *_clocks(capture.tables, linked)]
        found += [*_in_order(linked.ops), *_times(capture.tables)]
    return tuple(sorted(found, key=lambda each: -(each.part or 0.0)))


def flaws_of(captures: Sequence[Capture]) -> tuple[Flaw, ...]:
    """Return the flaws of all captures; where several are given, each with its capture's label."""
    found = [(each.label, flaw) for each in captures for flaw in flaws(each)]
    if len({each.label for each in captures}) > 1:
        found = [(label, flaw.of(label)) for label, flaw in found]
    return tuple(sorted((flaw for _, flaw in found), key=lambda flaw: -(flaw.part or 0.0)))


def _dropped(capture: Capture) -> Iterator[Flaw]:
    """Yield what the reader left out."""
    rows = _left_out(capture)
    parts = rows.select(_ON_GPU.then(pl.col("count") / pl.col("of"))).to_series()
    counters = rows.select(pl.col("table") == "counters").to_series()
    for sentence, part, counted in zip(dropped.sentences(rows), parts, counters, strict=True):
        if counted:
            yield Flaw(sentence, "what rests on them is not measured", _WHOLE_GPU)
        else:
            yield Flaw(f"{sentence}: they are left out", "the others are as recorded", _AGAIN, part)


def _dropped_ops(capture: Capture) -> int:
    """Return how many operations of the GPU the reader left out."""
    return int(_left_out(capture).select(_ON_GPU.then("count")).to_series().sum())


def _left_out(capture: Capture) -> pl.DataFrame:
    return capture.tables.get("dropped", empty("dropped"))


def _said(capture: Capture) -> Iterator[Flaw]:
    """Yield the profiler's own warnings."""
    if said := conditions_of(capture).get(SAID):
        what = f"the profiler said: {said}"
        yield Flaw(what, "what was recorded is read as it is", "heed what the profiler asks for")


def _launched(linked: Launches, left_out: int) -> Iterator[Flaw]:
    """Yield launches without work on the GPU, but for what was dropped, and work without one."""
    lost, total = max(linked.lost - left_out, 0), linked.count
    if lost and linked.ops.is_empty():
        what = f"all {lost:,} launches have no work on the GPU: the profiler lost the kernels"
        yield Flaw(what, "only the host's calls hold", _KEEP, 1.0)
    elif lost:
        where = {"first": "the first ", "last": "the last "}.get(linked.place, "")
        part = lost / total
        what = f"{where}{lost:,} of {total:,} launches have no kernel: the profiler lost them"
        holds = "busy and idle time do not hold where they are missing"
        yield Flaw(what, holds, _KEEP, part)
    if linked.unlaunched:
        what = f"{linked.unlaunched:,} of {linked.ops.height:,} GPU operations have no launch"
        holds = "times on the GPU hold, but not what the host did for these"
        yield Flaw(what, holds, _CALLS)


def _clocks(tables: Tables, linked: Launches) -> Iterator[Flaw]:
    """Yield kernels that begin before their launch, or end after the host has waited for them."""
    ahead = pl.col("at") - pl.col("start_ns")
    known = linked.ops.drop_nulls("at")
    by_device = known.group_by("device").agg(
        pl.len().alias("count"),
        (ahead > CLOCK_NS).sum().alias("early"),
        ahead.max().alias("most"),
    )
    for device, count, early, most in by_device.filter(pl.col("early") > 0).sort("device").rows():
        what = (
            f"{early:,} of {count:,} operations of {device_name(device)} begin before their launch"
        )
        yield Flaw(
            f"{what}, by up to {_time(most)}: its clock is not the host's",
            "times on one GPU hold, but not the host's beside them, nor another GPU's",
            _AGAIN,
            early / count,
        )
    yield from _waited(tables["api_calls"], linked)
    yield from _apart(tables["gpu_ops"])


def _waited(calls: pl.DataFrame, linked: Launches) -> Iterator[Flaw]:
    """Yield that the host waited for a device which, by its clock, still ran what it waited for."""
    late = _late(calls, linked.ops.drop_nulls("at"))
    if late.is_empty():
        return
    beyond, of_all = int(late["late_ns"].max()), late["waits"][0]  # type: ignore[arg-type]  # integers
    what = f"after {late.height:,} of {of_all:,} waits for a device it still ran what was launched"
    span = _span(linked.ops)
    yield Flaw(
        f"{what} before, for up to {_time(beyond)}: clocks or durations are wrong",
        "neither the durations nor what the host did meanwhile hold",
        _AGAIN,
        max(beyond / span if span else 1.0, late.height / of_all),
    )


def _apart(gpu_ops: pl.DataFrame) -> Iterator[Flaw]:
    """Yield that two devices ran collectives at different times, in which each waits for the other.

    Of more devices, several groups may have collectives of one name.
    """
    together = named(gpu_ops["name"], _TOGETHER)
    rows = gpu_ops.filter(pl.col("kind") == "kernel", together)
    devices = rows.partition_by("device", maintain_order=True)
    if len(devices) != 2:
        return
    each = communication.collectives(devices).group_by("number")
    gaps = each.agg(gap=pl.col("start_ns").max() - pl.col("end_ns").min())
    apart = gaps.filter(pl.col("gap") > CLOCK_NS)
    if apart.is_empty():
        return
    what = f"{apart.height:,} of {gaps.height:,} collectives ended on one device before they began"
    yield Flaw(
        f"{what} on the other, by up to {_time(int(apart['gap'].max()))}: clocks differ",  # type: ignore[arg-type]  # integers
        "times on one GPU hold, but not one GPU beside another",
        _AGAIN,
        apart.height / gaps.height,
    )


def _late(calls: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return the waits that ended before what their thread had launched: late_ns, waits (of all).

    Only of threads that launch on one device: which one a wait is for is not recorded.
    """
    timed = calls.drop_nulls(["thread", "start_ns", "duration_ns"])
    waits = timed.filter(named(timed["name"], _WAITS))
    waits = waits.select("thread", "start_ns", waited_ns=pl.col("start_ns") + pl.col("duration_ns"))
    alone = pl.col("device").n_unique().over("thread") == 1
    ends = known.filter(alone).select("thread", start_ns="at", end_ns="end_ns").sort("start_ns")
    ends = ends.with_columns(pl.col("end_ns").cum_max().over("thread"))
    seen = waits.sort("start_ns").join_asof(
        ends.drop_nulls("thread"), on="start_ns", by="thread", check_sortedness=False
    )
    late = seen.drop_nulls("end_ns").select(
        late_ns=pl.col("end_ns") - pl.col("waited_ns"), waits=pl.len()
    )
    return late.filter(pl.col("late_ns") > CLOCK_NS)


_STREAM = ("device", "stream", "process")


def _in_order(ops: pl.DataFrame) -> Iterator[Flaw]:
    """Yield the stream whose kernels run side by side for longest, which no stream lets them.

    Kernels of CUDA graphs are branches that bear the launching stream's number, and one that is
    launched with attributes (``…KernelEx``) may begin while the one ahead of it ends.
    """
    kernels = ops.filter(pl.col("kind") == "kernel").sort("start_ns")
    reach = pl.col("end_ns").cum_max().shift(1).over(_STREAM)
    kernels = kernels.with_columns(until=pl.min_horizontal("end_ns", reach), reach=reach)
    kernels = kernels.with_columns(fresh=pl.col("end_ns") - pl.max_horizontal("start_ns", "reach"))
    totals = kernels.group_by(_STREAM).agg(
        pl.len().alias("kernels"),
        pl.col("duration_ns").sum().alias("sum_ns"),
        pl.col("fresh").clip(0).sum().alias("covered_ns"),
        pl.col("call").is_not_null().any().alias("known"),
    )
    overlapping = kernels.drop_nulls(["reach", "stream"]).filter(
        pl.col("reach") - pl.col("start_ns") > _ROUNDED_NS, ~pl.col("grouped")
    )
    deep = ~pl.col("known") & (pl.col("sum_ns") > _DEEP * pl.col("covered_ns"))
    found = overlapping.join(totals, on=_STREAM, nulls_equal=True).filter(pl.col("plain") | deep)
    if found.is_empty():
        return
    together = {
        key: intervals.covered(rows.select("start_ns", end_ns="until"))
        for key, rows in found.group_by(_STREAM)
    }
    worst = max(together, key=lambda key: together[key])
    rows = found.filter(pl.struct(_STREAM) == dict(zip(_STREAM, worst, strict=True)))
    total, sum_ns, covered_ns = rows.select("kernels", "sum_ns", "covered_ns").row(0)
    if together[worst] < _OVERLAP * covered_ns:
        return
    what = f"{rows.height:,} of {total:,} kernels overlap with others of their stream {worst[1]}"
    yield Flaw(
        f"{what}: {_time(sum_ns)} of kernels in {_time(covered_ns)}",
        "their durations do not hold, and the GPU was not busy for as long",
        _AGAIN,
        together[worst] / _span(ops.filter(pl.col("device").eq_missing(worst[0]))),
    )


_SAME = ("kind", "name", "device", "stream", "start_ns", "duration_ns", "correlation", "graph_node")


def _times(tables: Tables) -> Iterator[Flaw]:
    """Yield operations without a time, those that take none, and those that are there twice."""
    ops = tables["gpu_ops"]
    timed = ops.drop_nulls(["start_ns", "duration_ns"])
    if untimed := ops.height - timed.height:
        what = f"{untimed:,} of {ops.height:,} GPU operations have no time"
        yield Flaw(what, "the others are as recorded", _KEEP, untimed / ops.height)
    kernels = timed.filter(pl.col("kind") == "kernel")
    if empty_ones := kernels.filter(pl.col("duration_ns") == 0).height:
        what = f"{empty_ones:,} of {kernels.height:,} kernels last 0 ns"
        yield Flaw(what, "the GPU was busy for longer", _AGAIN, empty_ones / kernels.height)
    alike = timed.filter(pl.col("start_ns").is_duplicated())  # few: to compare all takes long
    if repeated := alike.height - alike.unique(_SAME).height:
        what = f"{repeated:,} of {timed.height:,} GPU operations are there twice"
        holds = "counts and sums of durations are too high"
        yield Flaw(what, holds, "merge no trace with itself", repeated / timed.height)


def _span(ops: pl.DataFrame) -> int:
    first, last = ops.select(pl.col("start_ns").min(), pl.col("end_ns").max()).row(0)
    return 0 if first is None else int(last - first)


def _time(ns: int) -> str:
    scale, unit = next((each for each in ((1e9, "s"), (1e6, "ms")) if ns >= each[0]), (1e3, "µs"))
    return f"{ns / scale:,.3g} {unit}" if ns < 1e12 else f"{ns / scale:,.0f} {unit}"
