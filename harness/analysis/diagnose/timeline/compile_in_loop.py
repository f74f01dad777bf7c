"""Kernels are compiled, or their code is loaded, in the middle of the run.

It shows as idle time in calls that load a module or a library, in host code of the same gap, and in
ranges that a compiler names or in which cuDNN tries its algorithms (harness.analysis.idle.causes,
COMPILE), and as rounds of trials of one kernel (harness.analysis.trials). Once at the start is
warm-up; REPEATED gaps or rounds after it mean that shapes or constants change and each change
compiles, or tries, anew.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis import intervals, kernels
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import graph_captures, host_calls
from harness.evidence.capture import BENCHMARK, EVENT_WAIT

KIND = FindingKind(
    "compile-in-loop",
    "timeline",
    "The GPU waits while kernels are compiled or loaded in the middle of the run.",
    fix=(
        "compile for dynamic shapes, or pad inputs to a few shapes",
        "compile and load every kernel before the loop",
        "keep the compiler's cache between processes",
    ),
)
_BENCHMARK = "The GPU waits while cuDNN's benchmark mode tries kernels for new shapes."
_BENCHMARK_FIX = (
    "turn benchmark mode off where shapes change"
    + for_torch(" (torch.backends.cudnn.benchmark = False)"),
    "pad inputs to a few shapes, and run each once before the loop",
)
_BUILT = r"^cudnn\w*(sdpa|attention)"
"""Names of cuDNN's kernels of attention, which it builds for each shape."""
_BUILDING = "The GPU waits while cuDNN builds its attention for new lengths, again and again."
_BUILDING_FIX = (
    "take another backend of attention, whose kernels serve every length"
    + for_torch(" (torch.nn.attention.sdpa_kernel)"),
    "or let lengths take few values: pad keys and values to a few, masked; slices of a cache that "
    "is allocated once still take a new length each",
)
_CONVOLVES = r"nchwToNhwc|(?i:conv|fprop|dgrad|wgrad)"
"""Names of what cuDNN's convolutions begin with."""
_RECORD, _SYNCHRONISE = r"^c\w*EventRecord", r"^c\w*(Device|Ctx)Synchronize"
"""cuDNN's benchmark mode times each algorithm alone: it synchronises, records an event, runs it,
records another and waits for that."""
_TUNING = "The GPU tries the configurations of a kernel again and again."
_TUNING_FIX = (
    "let the autotuner's key take few values: round sizes up in it, or leave them out",
    "choose the configuration before the loop, and keep it between processes "
    "(cache_results=True of triton.autotune)",
)
_CAPTURING = "The GPU waits while CUDA graphs are captured and made ready again and again."
_CAPTURING_FIX = (
    "capture a graph once for each set of shapes, on buffers that stay, copy new inputs into them "
    "and replay it",
    "look at what the cache of graphs is keyed by: an address or a tensor of the request differs "
    "each time",
)
_SHORT = 40
_MOST = 0.5
"""Of such idle time: with less in benchmark mode, another compilation costs as much or more."""
_NEXT = "log the causes of recompilation" + for_torch(
    ": TORCH_LOGS=recompiles, TRITON_KERNEL_DUMP=1"
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of trials, and the idle time of compilation after the warm-up."""
    yield from _tuning(view)
    share, gaps = view.idle(idle_causes.COMPILE), view.count(idle_causes.COMPILE)
    if not view.repeats(idle_causes.COMPILE) or any(not t.tuning.is_empty() for t in view.tracks):
        return
    loads = view.called(host_calls.LOAD)
    tried, captured, built = tuple(_tried(view)), tuple(_captured(view)), tuple(_building(view))
    running = _trials_run(view) if tried else 0.0
    evidence = (
        view.percent("idle while code is compiled or loaded", share, thresholds.MATTERS),
        *((view.percent("in kernels of trials", running),) if running else ()),
        *tried,
        *captured,
        *built,
        view.number("gaps with such work", gaps, "", thresholds.REPEATED),
        view.number("modules loaded or unloaded", loads.height),
    )
    advice = () if tried or captured or built else (_NEXT,)
    finding = KIND.finding(
        view.where,
        evidence,
        share=share + running,
        gain=share + running,
        confidence=0.9,
        capture_next=advice,
    )
    if tried:
        finding = replace(finding, title=_BENCHMARK, fix=_BENCHMARK_FIX)
    elif captured:
        finding = replace(finding, title=_CAPTURING, fix=_CAPTURING_FIX)
    elif built:
        finding = replace(finding, title=_BUILDING, fix=_BUILDING_FIX)
    yield finding


def _building(view: TimelineView) -> Iterator[Evidence]:
    """Yield how much of such idle time ends with cuDNN's attention, if that is most of it."""
    part = _is_before(view, _BUILT)
    if part:
        yield view.percent("of it in gaps before cuDNN's attention", part)


def _is_before(view: TimelineView, pattern: str) -> float:
    """Return which part of such idle time ends with a kernel of such a name; 0 if not most."""
    rows = pl.concat([_before(track) for track in view.tracks])
    named = rows.filter(pl.col("name").cast(pl.String).str.contains(pattern))
    part = float(named["length_ns"].sum()) / max(float(rows["length_ns"].sum()), 1.0)
    return part if part >= _MOST else 0.0


def _before(track: Track) -> pl.DataFrame:
    """Return length_ns of the pieces of such idle time, and the name of what ran next."""
    pieces = track.idle.filter(pl.col("cause") == idle_causes.COMPILE)
    pieces = pieces.select("end_ns", length_ns=pl.col("end_ns") - pl.col("start_ns"))
    ops = intervals.ordered(track.ops.select("start_ns", "name"), "start_ns")
    return intervals.ordered(pieces, "end_ns").join_asof(
        ops, left_on="end_ns", right_on="start_ns", strategy="forward", check_sortedness=False
    )


def _captured(view: TimelineView) -> Iterator[Evidence]:
    """Yield how often graphs are captured and launched, if most of such idle time is in that."""
    whole = inside = count = launches = 0
    for track in view.tracks:
        captures = graph_captures.of(track.calls)
        compiled = _compiled_ns(track, _union(captures))
        inside, whole = inside + compiled[0], whole + compiled[1]
        count += captures.height
        launches += track.calls.filter(host_calls.launches_graph(pl.col("name"))).height
    if count and inside >= _MOST * whole:
        yield view.number("CUDA graphs captured", count)
        yield view.number("launches of graphs", launches)


def _tuning(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of rounds of trials: running, or idle for compilation."""
    rounds = pl.concat([track.tuning for track in view.tracks])
    if rounds.is_empty():
        return
    running = sum(
        intervals.length(intervals.common(track.ops, track.tuning)) for track in view.tracks
    )
    share = view.fraction(running) + view.idle(idle_causes.COMPILE)
    most = rounds.group_by("kernel").agg(pl.col("trials").sum(), pl.len()).sort("trials", "kernel")
    name, trials, count = most.row(-1)
    evidence = (
        view.percent("time of trials, and of compiling for them", share, thresholds.MATTERS),
        view.number(
            f"rounds of trials of {kernels.short_name(name, _SHORT)}",
            count,
            "",
            thresholds.REPEATED,
        ),
        view.number("runs in them, each after a fill of the L2 cache", trials),
    )
    finding = KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.95)
    yield replace(finding, title=_TUNING, fix=_TUNING_FIX)


def _trials_run(view: TimelineView) -> float:
    """Return the fraction of the time in which kernels of trials run, and the moments between."""
    whole = 0
    for track in view.tracks:
        runs = track.ops.filter("trial").select("start_ns", "end_ns")
        between = track.idle.filter(pl.col("cause") == idle_causes.BOUNDARY)
        ended = between.filter(pl.col("end_ns").is_in(runs["start_ns"].implode()))
        whole += intervals.covered(pl.concat([runs, ended.select("start_ns", "end_ns")]))
    return view.fraction(whole)


def _tried(view: TimelineView) -> Iterator[Evidence]:
    """Yield how many algorithms cuDNN tries in a call, if most of such idle time is in such calls.

    It waits for an event after each of them.
    """
    whole = inside = trials = calls = 0
    for track in view.tracks:
        ranges = track.capture.tables["ranges"].drop_nulls(["start_ns", "duration_ns", "thread"])
        ranges = ranges.filter(pl.col("name").cast(pl.String).str.starts_with(BENCHMARK))
        spans = _union(ranges)
        compiled = _compiled_ns(track, spans)
        inside, whole = inside + compiled[0], whole + compiled[1]
        waits = track.calls.filter(pl.col("name").cast(pl.String).str.contains(EVENT_WAIT))
        trials += intervals.inside(waits, spans).height
        calls += intervals.inside(ranges, track.stretches).height
    if calls and inside >= _MOST * whole:
        what = f"algorithms that cuDNN's benchmark mode tries in each of {calls:,} calls"
        yield view.number(what, trials / calls)
    elif not calls and _is_before(view, _CONVOLVES):
        runs = sum(_timed_runs(track) for track in view.tracks)
        if runs >= thresholds.REPEATED:
            yield view.number("runs before convolutions that the host times by events", runs)


def _timed_runs(track: Track) -> int:
    """Return how many stretches of a thread's calls are those of a trial: see _RECORD."""
    name = pl.col("name").cast(pl.String)
    kinds = (
        pl.when(name.str.contains(_RECORD))
        .then(pl.lit("record"))
        .when(name.str.contains(EVENT_WAIT))
        .then(pl.lit("wait"))
        .when(name.str.contains(_SYNCHRONISE))
        .then(pl.lit("synchronise"))
    )
    rows = track.calls.select("thread", "start_ns", kind=kinds).drop_nulls().sort("start_ns")
    before = [pl.col("kind").shift(back).over("thread") for back in (1, 2, 3)]
    wanted = ("record", "record", "synchronise")
    trial = [each == kind for each, kind in zip(before, wanted, strict=True)]
    return rows.filter(pl.col("kind") == "wait", *trial).height


def _union(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the time that ranges cover."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    return intervals.union(ranges.select("start_ns", end_ns=end))


def _compiled_ns(track: Track, spans: pl.DataFrame) -> tuple[int, int]:
    """Return how much of a track's idle time of compilation lies in spans, and all of it."""
    compiled = track.idle.filter(pl.col("cause") == idle_causes.COMPILE)
    return (
        intervals.length(intervals.common(compiled, spans)),
        intervals.length(intervals.union(compiled)),
    )
