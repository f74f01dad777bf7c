"""All-to-alls before which ranks had different work, from the tracks of a timeline view."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication
from harness.analysis.collective_kinds import ALL_TO_ALL, EITHER
from harness.analysis.diagnose.timeline_tracks import Track


@dataclass(frozen=True)
class Uneven:
    """The collectives (``numbers``) that are such all-to-alls, of ``exchanges`` in all.

    ``last_share``: the part of them in which the same rank is last, at most.
    """

    numbers: tuple[int, ...]
    exchanges: int
    last_share: float


def uneven(tracks: Sequence[Track], collectives: pl.DataFrame) -> Uneven | None:
    """Return the all-to-alls before which ranks launched kernels with other grids; None without.

    ``collectives`` as Ranks has them. An exchange counts where every rank computed since its
    collective before. Where the calls behind a kernel are not known, it counts as an all-to-all if
    all ranks launched as many kernels since: experts differ in their grids, stages of a pipeline
    in what they run.
    """
    work = pl.concat(
        _work_before(track, collectives.filter(pl.col("rank") == rank)).with_columns(
            rank=pl.lit(rank, pl.Int64)
        )
        for rank, track in enumerate(tracks)
    )
    before = work.group_by("number").agg(
        (pl.len() == len(tracks)).alias("on_all"),
        differs=pl.col("work").n_unique() > 1,
        alike=pl.col("launched").n_unique() == 1,
    )
    known, unknown = (
        (pl.col("made") == each).all().over("number") for each in (ALL_TO_ALL, EITHER)
    )
    exchanges = collectives.join(before, on="number", how="left").filter(
        known | (unknown & pl.col("alike"))
    )
    rows = exchanges.filter("on_all", "differs")
    if rows.is_empty():
        return None
    last = rows.filter(pl.col("waited_ns") == pl.col("waited_ns").min().over("number"))
    numbers = tuple(rows["number"].unique().sort())
    most = int(last["rank"].value_counts()["count"].max())  # type: ignore[arg-type]  # integers
    return Uneven(numbers, exchanges["number"].n_unique(), most / len(numbers))


def _work_before(track: Track, collectives: pl.DataFrame) -> pl.DataFrame:
    """Return of each collective of a rank the kernels since the one before: number, work, launched.

    ``work``: names and grids, in any order; ``launched``: how many. Collectives without such
    kernels have no row.
    """
    computed = (pl.col("kind") == "kernel") & (pl.col("work") == communication.COMPUTE)
    kernels = track.ops.filter(computed).select(
        "start_ns", shape=pl.concat_str("name", pl.col("grid").cast(pl.String), ignore_nulls=True)
    )
    following = collectives.select("start_ns", "number").sort("start_ns")
    placed = kernels.sort("start_ns").join_asof(following, on="start_ns", strategy="forward")
    known = placed.drop_nulls("number")
    return known.group_by("number").agg(
        work=pl.col("shape").sort().str.join(";"), launched=pl.len()
    )
