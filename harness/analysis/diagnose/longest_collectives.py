"""The collectives that leave GPUs waiting longest: their kind, and their layer or place in a step.

The layer is the innermost module or range around the launch (``origins`` of torch.profiler, NVTX
ranges), where those of one kind stand in several. Else the place is told: "the 3rd of 16
all-reduces of a step", where each step has as many.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis import communication, intervals, kernels, step
from harness.analysis.collective_kinds import BOTH, CALL_OF_NCCL, EITHER, PEER_COPY
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.diff.paths import with_paths
from harness.evidence.capture import IN_SCOPE, MARK_OF_TIME

_MOST = 3
_LETTERS = 40
"""Of a module's or range's name."""
_PLURALS = {
    BOTH: "sends and receives",
    EITHER: "sends or receives",
    PEER_COPY: "copies between GPUs",
}
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
ALONE, WAITED = pl.col("alone_ns"), pl.min_horizontal("alone_ns", "waited_ns")
"""How long an operation's device computes nothing beside it, and how long of it for the last."""


def longest(view: TimelineView, ns: pl.Expr, which: pl.Expr | bool = True) -> Iterator[Evidence]:
    """Yield where devices wait longest, up to three places, as parts of their time.

    ``ns``: how long an operation leaves its device waiting, of ALONE and WAITED. ``which`` count,
    by ``made``, their kind, and ``number``, that of Ranks.collectives.
    """
    parts = [_placed(view, rank).filter(which) for rank in range(len(view.tracks))]
    sums = pl.concat(parts).group_by("place").agg(ns.clip(0).sum().alias("ns"))
    waits = sums.filter(pl.col("ns") > 0).sort("ns", "place", descending=[True, False])
    for place, waited in waits.head(_MOST).iter_rows():
        yield view.percent(f"waited in {place}", view.fraction(waited))


def _placed(view: TimelineView, rank: int) -> pl.DataFrame:
    """Return of what communicates on a device: made, number, alone_ns, waited_ns (0), place."""
    track, collectives = view.tracks[rank], view.ranks.collectives
    rows = _in_steps(track, _in_layers(track, _alone(track, view.ranks.communicating[rank])))
    rows = rows.with_columns(number=pl.lit(None, pl.Int64), waited_ns=pl.lit(0, pl.Int64))
    if collectives is not None:
        mine = collectives.filter(pl.col("rank") == rank)
        waited = mine.select("name", "start_ns", "number", "waited_ns")
        rows = rows.update(waited, on=["name", "start_ns"])
    places = rows.select("made", "layer", "turn", "count").unique()
    texts = [_text(*place) for place in places.iter_rows()]
    named = places.with_columns(place=pl.Series(texts, dtype=pl.String))
    return rows.join(named, on=places.columns, nulls_equal=True).select(
        "made", "number", "alone_ns", "waited_ns", "place"
    )


def _text(kind: str, layer: str | None, turn: int | None, count: int | None) -> str:
    """Return the words for a kind's place: its layer, or its turn of ``count`` in a step."""
    several = _PLURALS.get(kind, f"{kind}s")
    if layer is not None:
        return f"{several} in {kernels.cut(layer, _LETTERS)}"
    if turn is None or count is None:
        return several
    if count == 1:
        return f"the {kind} of a step"
    ending = "th" if turn % 100 in (11, 12, 13) else _ENDINGS.get(turn % 10, "th")
    return f"the {turn}{ending} of {count} {several} of a step"


def _alone(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return operations with alone_ns: how long no kernel computes beside them."""
    computed = track.ops.filter(pl.col("work") == communication.COMPUTE)
    spans = intervals.union(computed).select(
        pl.lit(0).alias("device"), low="start_ns", high="end_ns"
    )
    numbered = rows.with_row_index("op").with_columns(device=pl.lit(0))
    both = pl.min_horizontal("end_ns", "high") - pl.max_horizontal("start_ns", "low")
    beside = intervals.overlapping(numbered, spans, "device").group_by("op").agg(beside=both.sum())
    joined = numbered.join(beside, on="op", how="left", maintain_order="left")
    alone = pl.col("duration_ns") - pl.col("beside").fill_null(0)
    return joined.with_columns(alone_ns=alone).drop("op", "beside")


def _in_layers(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return operations with ``layer``, null where all of their kind stand in one, or in none."""
    tables = track.capture.tables
    outside = f"{CALL_OF_NCCL}|{MARK_OF_TIME}"
    name = pl.col("name").cast(pl.String)
    around = tables["ranges"].filter(~name.str.contains(outside), name != track.steps.ranges)
    scopes = tables["origins"].select("correlation", scope=pl.col("scope").cast(pl.String))
    inner = pl.col("scope").str.split(IN_SCOPE).list.filter(~pl.element().str.contains(outside))
    found = with_paths(rows, tables["api_calls"], around)
    found = found.join(scopes, on="correlation", how="left", maintain_order="left")
    found = found.with_columns(layer=pl.coalesce(inner.list.last(), "path"))
    several = pl.col("layer").n_unique().over("made") > 1
    return found.with_columns(layer=pl.when(several).then("layer")).drop("path", "scope")


def _in_steps(track: Track, rows: pl.DataFrame) -> pl.DataFrame:
    """Return operations with ``turn``, which of their kind they are in their step, and ``count``.

    Both are null where steps are not known or differ in number.
    """
    steps = track.steps
    begins = step.windows(steps.ops, apart=steps.is_apart).select("step", "start_ns")
    placed = rows.sort("start_ns").join_asof(begins, on="start_ns")
    ordered = placed.with_columns(
        turn=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("step", "made"),
        count=pl.len().over("step", "made").cast(pl.Int64),
    )
    alike = (pl.col("count").n_unique().over("made") == 1) & (steps.rule != "whole")
    return ordered.with_columns(pl.when(alike).then(pl.col("turn", "count")))
