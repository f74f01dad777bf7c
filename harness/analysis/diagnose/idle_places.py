"""Where idle time lies: the kernel that it lasts until, the operator or range, and the host's call.

An idle gap ends with the next operation on its device. What launched that one stood in an operator
and in annotations (``origins``, of torch.profiler's traces), or in a range of its thread.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from harness.analysis import copies, intervals, kernels
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import host_calls, recording_cost
from harness.evidence.capture import IN_SCOPE, MARK_OF_TIME, MODULE_NUMBER

_MOST = 0.5
"""Of a cause's idle time: with less before one kernel, others together cost as much or more."""
_CODE, _ASIDE = "host code", 0.1
_COPY = re.compile(r"\[CUDA memcpy (\w)\w*-to-(\w)\w*\].*")
_SHORT = 40
"""Letters of a name: two of them fit two printed lines."""


def mostly_before(view: TimelineView, cause: str) -> Iterator[Evidence]:
    """Yield where at least half of the idle time for a cause lies, if one place has that much.

    It is a kernel's name, with the operator or range that most of that time is in; else such an
    operator or range alone; else the innermost class of modules. Nothing where all operations on
    the device have one name.
    """
    rows = _placed(view, [cause])
    total = int(rows["length_ns"].sum())
    names = pl.concat([track.ops["name"].unique() for track in view.tracks]).n_unique()
    if not total or names == 1:
        return
    kernel, place = (largest(rows, key, total) for key in ("kernel", "place"))
    if kernel is not None:
        found = rows.filter(pl.col("kernel") == kernel)
        whole = int(found["length_ns"].sum())
        place, copied = (largest(found, key, whole) for key in ("place", "copied"))
        where = f" before {_short(kernel)}"
        if copied is not None:
            where = f" after {_short(copied)},{where}"
    elif place is not None:
        found, where = rows.filter(pl.col("place") == place), ""
    else:
        found, where = _in_modules(rows, total), ""
        if found.is_empty():
            return
        place = found["place"][0]
    gaps = found.select("track", "gap").n_unique()
    where = f"of it in {gaps:,} gaps{where}" + (
        f", in {kernels.cut(place, _SHORT)}" if place else ""
    )
    yield view.percent(where, int(found["length_ns"].sum()) / total)


def _in_modules(rows: pl.DataFrame, total: float) -> pl.DataFrame:
    """Return the rows of the innermost modules or annotation that have _MOST of a time.

    Modules of one class in one place count together. ``place`` becomes the class or annotation.
    Empty where none has so much, or all lies in one that holds no such other.
    """
    found, within = rows.clear(), rows
    depths = rows["within"].drop_nulls().list.len().to_list()
    for depth in range(max(depths, default=0)):
        place = pl.col("within").list.get(depth, null_on_oob=True)
        within = within.with_columns(place=place)
        name = largest(within, "place", total)
        if name is None:
            break
        within = within.filter(pl.col("place") == name)
        if depth or within.height < rows.height:
            found = within
    return found


def beside_copies(view: TimelineView, cause: str) -> tuple[float, float]:
    """Return the parts of a cause's idle time after copies to the host, and before ones from it."""
    rows = _placed(view, [cause])
    total = float(rows["length_ns"].sum())
    if not total:
        return 0.0, 0.0
    after, before = (
        float(rows.filter(pl.col(key).str.contains(pattern))["length_ns"].sum()) / total
        for key, pattern in (("copied", copies.TO_HOST), ("kernel", copies.TO_DEVICE))
    )
    return after, before


def longest(view: TimelineView, causes: Sequence[str]) -> Iterator[Evidence]:
    """Yield how long the longest gap for one of these causes is, and what the host did in it."""
    rows = _placed(view, causes)
    rows = rows.with_columns(gap_ns=pl.col("length_ns").sum().over("track", "gap"))
    if rows.is_empty():
        return
    longest = rows.sort("gap_ns", descending=True, maintain_order=True).row(0, named=True)
    gap = rows.filter(pl.col("track") == longest["track"], pl.col("gap") == longest["gap"]).sort(
        "length_ns"
    )
    track, last = view.tracks[longest["track"]], gap.row(-1, named=True)
    told = [f"longest gap of one time ({', '.join(_doing(track, gap))})"]
    if last["kernel"] is not None:
        told.append(f"before {_short(last['kernel'])}")
    if last["place"] is not None:
        told.append(f"in {kernels.cut(last['place'], _SHORT)}")
    if _is_first(track, last):
        told.append("a first launch, which loads the kernel's code")
    yield view.number(", ".join(told), last["gap_ns"] / 1e6, "ms")


def _placed(view: TimelineView, causes: Sequence[str]) -> pl.DataFrame:
    """Return the pieces of idle time for causes with their places: a row each.

    Columns: track (its number), gap, thread, state, call, start_ns, end_ns, length_ns without the
    profiler's part, and of what the gap lasts until ``kernel``, its operation's name, and
    ``place``; both null where they are not known. ``within``: the annotations and classes of
    modules around its launch, the outermost first. ``copied``: the copy that ended last before the
    gap, null if something else did.
    """
    parts = []
    for at, track in enumerate(view.tracks):
        pieces = track.idle.filter(pl.col("cause").is_in(list(causes)))
        rows = pieces.select(
            "gap",
            "thread",
            pl.col("state", "call").cast(pl.String),
            "start_ns",
            "end_ns",
            length_ns=recording_cost.own_ns(),
            track=pl.lit(at),
        ).filter(pl.col("length_ns") > 0)
        parts.append(_after_copies(track, _in_ranges(track, _in_operators(track, rows))))
    return pl.concat(parts)


def _after_copies(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with ``copied``, the name of the copy that their gap follows."""
    began = track.idle.group_by("gap").agg(pl.col("start_ns").min())
    copied = pl.when(pl.col("kind") == "copy").then(pl.col("name").cast(pl.String))
    found = intervals.with_ended(began, track.ops.select("end_ns", copied=copied))
    return rows.join(found.select("gap", "copied"), on="gap", how="left", maintain_order="left")


def _in_operators(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with ``kernel`` and ``place``: the operator that launched what comes next.

    An operator that is called as its kernel, as those of compiled code are, says less than the
    innermost annotation or module around it.
    """
    nexts = track.ops.select(
        "correlation", next_ns="start_ns", kernel=pl.col("name").cast(pl.String)
    )
    found = intervals.ordered(rows, "end_ns").join_asof(
        intervals.ordered(nexts, "next_ns"),
        left_on="end_ns",
        right_on="next_ns",
        strategy="forward",
        check_sortedness=False,
    )
    origins = track.capture.tables["origins"].select(
        "correlation", pl.col("operator", "scope").cast(pl.String)
    )
    found = found.join(origins, on="correlation", how="left", maintain_order="left")
    telling = pl.col("operator") != pl.col("kernel")
    scopes = pl.col("scope").str.split(IN_SCOPE)
    place = pl.when(telling).then("operator").otherwise(scopes.list.last())
    part = pl.element()
    apart = part.str.contains(MARK_OF_TIME) | (part == (track.steps.ranges or ""))
    within = scopes.list.eval(part.filter(~apart).str.replace(MODULE_NUMBER, ""))
    return found.with_columns(place=place, within=within).drop(
        "next_ns", "correlation", "operator", "scope"
    )


def _in_ranges(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with ``place``, where it is null the range that began last and still runs."""
    ranges = track.capture.tables["ranges"].drop_nulls(["duration_ns", "thread"])
    names = ranges["name"].unique().cast(pl.String).drop_nulls()
    places = [name for name in names if name != track.steps.ranges and not _is_mark(name)]
    ranges = ranges.select(
        "thread",
        range=pl.col("name").cast(pl.String),
        began_ns="start_ns",
        until_ns=pl.col("start_ns") + pl.col("duration_ns"),
    ).filter(pl.col("range").is_in(places))
    found = intervals.ordered(rows, "start_ns").join_asof(
        intervals.ordered(ranges, "began_ns"),
        left_on="start_ns",
        right_on="began_ns",
        by="thread",
        check_sortedness=False,
    )
    inside = pl.when(pl.col("until_ns") >= pl.col("end_ns")).then("range")
    return found.with_columns(place=pl.coalesce("place", inside)).drop(
        "range", "began_ns", "until_ns"
    )


def _short(name: str) -> str:
    """Return an operation's name in a few letters, a copy's as its direction, such as HtoD."""
    return kernels.short_name(_COPY.sub(r"\1to\2", name), _SHORT)


def _is_mark(name: str) -> bool:
    return re.match(MARK_OF_TIME, name) is not None


def largest(rows: pl.DataFrame, key: str, total: float) -> str | None:
    """Return the value of a column that has at least _MOST of a time, None if none has.

    ``rows`` have length_ns, and ``total`` is the time in ns.
    """
    sums = rows.drop_nulls(key).group_by(key).agg(pl.col("length_ns").sum())
    most = sums.filter(pl.col("length_ns") >= _MOST * total).sort("length_ns", key)
    return str(most[key].last()) if most.height else None


def _doing(track: Track, gap: pl.DataFrame) -> list[str]:
    """Return the host's activities in most of a gap, the longest first, each with its time.

    It is a call into CUDA, a wait in the operating system (``waits``) or other code; what took less
    than _ASIDE of the gap is left out.
    """
    waits = track.capture.tables["waits"].filter(pl.col("thread").is_in(gap["thread"].implode()))
    outside = gap.filter(pl.col("call").is_null())
    end = pl.col("start_ns") + pl.col("duration_ns")
    waited = outside.join_where(
        waits.select(wait=pl.col("name").cast(pl.String), low="start_ns", high=end),
        pl.col("low") < pl.col("end_ns"),
        pl.col("high") > pl.col("start_ns"),
    ).select(
        name="wait",
        ns=pl.min_horizontal("end_ns", "high") - pl.max_horizontal("start_ns", "low"),
    )
    whole = gap.select(name="call", ns=pl.col("end_ns") - pl.col("start_ns"))
    parts = pl.concat([whole.with_columns(pl.col("name").fill_null(_CODE)), waited])
    parts = pl.concat([parts, waited.select(pl.lit(_CODE).alias("name"), -pl.col("ns"))])
    sums = parts.group_by("name").agg(pl.col("ns").sum()).sort("ns", "name", descending=True)
    told = sums.filter(pl.col("ns") >= _ASIDE * int(whole["ns"].sum()))
    return [f"{name} {ns / 1e6:,.1f} ms" for name, ns in told.iter_rows()]


def _is_first(track: Track, piece: dict[str, Any]) -> bool:
    """Return whether a piece lies in the call that launches a kernel first in the capture."""
    if piece["call"] is None or host_calls.kind(piece["call"]) != host_calls.LAUNCH:
        return False
    every = track.capture.tables["gpu_ops"].filter(
        pl.col("device").eq_missing(track.device), pl.col("name") == piece["kernel"]
    )
    first = every["start_ns"].min()
    return first is not None and bool(first >= piece["end_ns"])
