"""The lanes of a timeline page: events of the host and of each device on one clock.

From top to bottom: of each host thread its ranges and its CUDA calls, nested ones below each other;
of each device its idle time by cause, then its streams. Of many threads, and of many streams of a
device, those with most events have lanes of their own, and the others share some.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, graph_replays
from harness.analysis.diagnose.timeline_tracks import tracks_of
from harness.analysis.idle import causes as idle_causes
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables

RANGE, CALL, IDLE, STREAM = "range", "call", "idle", "stream"
"""What the events of a lane are; the page draws each in another way."""
COLLECTIVE = "collective"

CAUSES = {
    idle_causes.HOST: "host code outside CUDA",
    idle_causes.LAUNCH: "the host launches",
    idle_causes.SYNCHRONISE: "after the host waited for the GPU",
    idle_causes.PAGEABLE: "after a pageable copy",
    idle_causes.ALLOCATE: "memory reserved or freed",
    idle_causes.COMPILE: "code compiled or loaded",
    idle_causes.DATA: "data loaded",
    idle_causes.QUEUED: "launched, waiting for something else",
    idle_causes.BOUNDARY: "between queued operations",
    idle_causes.UNKNOWN: "not recorded",
}
"""Causes of idle time as the page names them, in the order of its legend."""

_MOST_DEPTH = 12
_HIDDEN = "hidden"
_MOST_APART = 64
"""Threads, and streams of a device, that have lanes of their own."""
_OTHERS = "others"
_NONE = pl.lit(None)
_EVENT = {
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "detail": pl.String,
    "correlation": pl.Int64,
}


@dataclass(frozen=True)
class Lane:
    """One row of the page.

    ``events``: start_ns, duration_ns, name, kind (kernel, collective, copy, memset, graph, range,
    call, or a cause of idle time), detail (a text, or null), correlation (null where unknown). They
    are sorted by start, and none overlaps another.
    """

    what: str
    label: str
    events: pl.DataFrame


@dataclass(frozen=True)
class Timeline:
    """Lanes, and the stretches of the steady state: pairs of start_ns and end_ns.

    ``hidden``: how many events have no place, as more than _MOST_DEPTH last at their start.
    """

    lanes: tuple[Lane, ...]
    steady: tuple[tuple[int, int], ...]
    hidden: int = 0

    @property
    def count(self) -> int:
        """Return the number of events of all lanes."""
        return sum(lane.events.height for lane in self.lanes)


def timeline(capture: Capture, belongings: pl.DataFrame | None = None) -> Timeline:
    """Return the lanes of a capture.

    ``belongings``: harness.analysis.audit.placed_ops.belongings of it, for operations' details.
    """
    tables = capture.tables
    tracks = tracks_of(capture)
    steady = [
        (int(start), int(end))
        for track in tracks[:1]
        for start, end in track.stretches.select("start_ns", "end_ns").iter_rows()
    ]
    idle = {
        track.device: track.idle.cast({"cause": pl.String, "call": pl.String}) for track in tracks
    }
    lanes = [
        lane for lane in (*_host(tables), *_devices(tables, idle, belongings)) if lane.events.height
    ]
    return Timeline(
        tuple(lane for lane in lanes if lane.what != _HIDDEN),
        tuple(steady),
        sum(lane.events.height for lane in lanes if lane.what == _HIDDEN),
    )


def _host(tables: Tables) -> Iterator[Lane]:
    """Yield the lanes of each thread, those with most events first."""
    calls, ranges = (tables[name].drop_nulls("duration_ns") for name in ("api_calls", "ranges"))
    threads = pl.concat([calls["thread"], ranges["thread"]]).value_counts(sort=True)["thread"]
    parts = {CALL: _parted(calls, "thread", threads), RANGE: _parted(ranges, "thread", threads)}
    for place, thread in enumerate([*threads[:_MOST_APART], _OTHERS], start=1):
        who = f"thread {place}" if len(threads) > 1 else "host"
        if thread == _OTHERS:
            who = f"{len(threads) - _MOST_APART} other threads"
        for what, label in ((RANGE, "ranges"), (CALL, "CUDA calls")):
            correlation = pl.col("correlation") if what == CALL else _NONE
            if (rows := parts[what].get(thread)) is not None:
                events = _events(rows, kind=pl.lit(what), correlation=correlation)
                yield from _nested(what, f"{who}: {label}", events)


def _devices(
    tables: Tables, idle: dict[int | None, pl.DataFrame], belongings: pl.DataFrame | None
) -> Iterator[Lane]:
    """Yield the idle time and the streams of each device."""
    ops = _with_belongings(communication.timed_work(tables["gpu_ops"]), belongings)
    for device in ops["device"].unique().sort():
        who = "GPU" if device is None else f"GPU {device}"
        pieces = idle.get(device)
        if pieces is not None:
            lasting = pl.col("end_ns") - pl.col("start_ns")
            shown = pieces.with_columns(duration_ns=lasting, name=pl.col("cause"))
            detail = pl.when(pl.col("call").is_not_null()).then("host in " + pl.col("call"))
            yield Lane(
                IDLE,
                f"{who}: idle",
                _events(shown, kind=pl.col("cause"), detail=detail).sort("start_ns"),
            )
        mine = ops.filter(pl.col("device").eq_missing(device))
        streams = mine["stream"].value_counts(sort=True)["stream"]
        parts = _parted(mine, "stream", streams)
        for stream in [*streams[:_MOST_APART].sort(), _OTHERS]:
            label = f"stream {stream}"
            if stream == _OTHERS:
                label = f"{len(streams) - _MOST_APART} other streams"
            if (rows := parts.get(stream)) is not None:
                events = _events(rows, _work(), _detail(), pl.col("correlation"))
                yield from _nested(STREAM, f"{who}: {label}", events)


def _with_belongings(ops: pl.DataFrame, belongings: pl.DataFrame | None) -> pl.DataFrame:
    """Return operations with ``belongs``, null where a capture of graphs does not tell it."""
    if belongings is None:
        return ops.with_columns(belongs=pl.lit(None, pl.String))
    keys = ["correlation", "device", "place"]
    placed = graph_replays.with_places(ops)
    return placed.join(belongings, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _parted(
    rows: pl.DataFrame, column: str, by_size: pl.Series
) -> dict[int | str | None, pl.DataFrame]:
    """Return the rows of each value of a column; those of all but the first have one name."""
    apart = by_size[:_MOST_APART].implode()
    is_apart = pl.col(column).is_in(apart, nulls_equal=True)
    parts: dict[int | str | None, pl.DataFrame] = {
        value: part
        for (value,), part in rows.filter(is_apart)
        .partition_by(column, as_dict=True, maintain_order=True)
        .items()
    }
    others = rows.filter(~is_apart)
    return parts | ({_OTHERS: others} if others.height else {})


def _work() -> pl.Expr:
    """Return an operation's kind; kernels of a collective have one of their own."""
    communicates = (pl.col("work") == communication.COMMUNICATE) & (pl.col("kind") == "kernel")
    return pl.when(communicates).then(pl.lit(COLLECTIVE)).otherwise(pl.col("kind"))


def _detail() -> pl.Expr:
    """Return what an operation belongs to and its shape, or a copy's memory and bytes, as text."""
    shape = pl.format(
        "grid {}, block {}, {} registers per thread",
        *(pl.col(name).cast(pl.String).fill_null("?") for name in ("grid", "block", "registers")),
    )
    moved = pl.format(
        "{}, {} bytes",
        pl.col("copy_kind").cast(pl.String).fill_null("copy"),
        pl.col("bytes").cast(pl.String).fill_null("?"),
    )
    is_copy = pl.col("kind").cast(pl.String).is_in(["copy", "memset"])
    own = pl.when(is_copy).then(moved).when(pl.col("grid").is_not_null()).then(shape)
    both = pl.concat_str(["belongs", own], separator="; ", ignore_nulls=True)
    return pl.when(pl.col("belongs").is_null()).then(own).otherwise(both)


def _events(
    rows: pl.DataFrame,
    kind: pl.Expr,
    detail: pl.Expr = _NONE,
    correlation: pl.Expr = _NONE,
) -> pl.DataFrame:
    made = rows.select(
        "start_ns", "duration_ns", "name", kind=kind, detail=detail, correlation=correlation
    )
    return made.cast(_EVENT)  # type: ignore[arg-type]  # names to types


def _nested(what: str, label: str, events: pl.DataFrame) -> Iterator[Lane]:
    """Yield lanes without overlap: an event that starts while another lasts goes a lane deeper."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    left = events.sort("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
    for depth in range(_MOST_DEPTH):
        if left.is_empty():
            return
        fits = _first_fit(left["start_ns"].to_list(), left.select(end).to_series().to_list())
        kept = pl.Series(fits, dtype=pl.Boolean)
        yield Lane(what, label if depth == 0 else "", left.filter(kept))
        left = left.filter(~kept)
    yield Lane(_HIDDEN, "", left)


def _first_fit(starts: Sequence[int], ends: Sequence[int]) -> list[bool]:
    """Return which events start after all that were taken before have ended."""
    taken, reached = [], None
    for start, end in zip(starts, ends, strict=True):
        free = reached is None or start >= reached
        reached = end if free else reached
        taken.append(free)
    return taken
