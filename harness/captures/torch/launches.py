"""Which host call launched each GPU operation, and what was open on its thread at that moment."""

import polars as pl

from harness.ground.errors import CaptureError

_DEEPEST = 1000
"""Spans within spans; Python itself calls no deeper."""


def launches(calls: pl.DataFrame, gpu: pl.DataFrame) -> pl.DataFrame:
    """Return correlation, duration_ns, at and thread of the GPU operations that a call launched.

    The launch is the host call of the same correlation, the first if there are several; ``at`` is
    when it began. ``calls`` has start_ns, thread and correlation, ``gpu`` duration_ns and
    correlation.
    """
    work = gpu.select("correlation", "duration_ns")
    first = (  # of one correlation the first comes last, where join_asof takes it
        calls.drop_nulls(["correlation", "thread"])
        .join(work, on="correlation", how="semi", maintain_order="left")
        .reverse()
        .sort("correlation", "start_ns", descending=[False, True], maintain_order=True)
    )
    return (
        work.drop_nulls("correlation")
        .sort("correlation")
        .join_asof(
            first.select("correlation", at="start_ns", thread="thread"),
            on="correlation",
            tolerance=0,
        )
        .drop_nulls("at")
    )


def innermost(spans: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Return the places that a span encloses, with the columns of the innermost such span.

    ``places``: thread and at, and what else shall be kept. ``spans``: thread, start_ns, duration_ns
    and others; those other columns and start_ns are added. The order of rows is not kept.

    Each round looks at the span that began last before a place, and then drops the spans that
    ended before the next began: none of them encloses a place that is still open.
    """
    end = pl.col("start_ns") + pl.col("duration_ns")
    live = (
        spans.drop_nulls(["thread", "duration_ns"])
        .with_columns(end.alias("end_ns"))
        .drop("duration_ns")
        .sort("thread", "start_ns", "end_ns", descending=[False, False, True], maintain_order=True)
        .with_columns(began_ns="start_ns")
    )
    added = [name for name in live.columns if name not in ("thread", "start_ns", "end_ns")]
    open_, inside_ranges = places.sort("thread", "at"), []
    for _ in range(_DEEPEST):
        if open_.is_empty() or live.is_empty():
            break
        seen = open_.join_asof(
            live, left_on="at", right_on="start_ns", by="thread", check_sortedness=False
        )
        inside = pl.col("end_ns") >= pl.col("at")
        inside_ranges.append(seen.filter(inside).select(*places.columns, *added))
        begun = pl.col("end_ns").is_not_null()
        open_ = seen.filter(begun & ~inside).select(places.columns)
        next_start = pl.col("start_ns").shift(-1).over("thread")
        live = live.filter(pl.col("end_ns") >= next_start)
    else:
        raise CaptureError(f"operators nested more than {_DEEPEST} deep")
    nowhere = places.clear().with_columns(live.select(added).clear())
    rows = pl.concat([nowhere, *inside_ranges])
    return rows.rename({"began_ns": "start_ns"})
