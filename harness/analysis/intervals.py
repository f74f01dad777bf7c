"""The union of intervals of time: operations overlap, so their summed durations are no time."""

import polars as pl


def union(intervals: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Return the disjoint stretches that intervals cover, by their start: start_ns and end_ns.

    ``intervals``: columns start_ns and end_ns, in any order; empty ones cover nothing, and what
    touches is one stretch. ``by``: a column whose values are kept apart; first of the result.
    """
    keys = [by] if by else []
    rows = intervals.select(*keys, "start_ns", "end_ns").filter(
        pl.col("end_ns") > pl.col("start_ns")
    )
    # How far the intervals up to each row reach: a gap follows where the next one starts later.
    rows = ordered(rows, *keys, "start_ns").with_columns(_within(pl.col("end_ns").cum_max(), by))
    opens = pl.col("start_ns") > _within(pl.col("end_ns").shift(1), by)
    rows = rows.with_columns(opens.fill_null(value=True).alias("opens"))
    closes = rows.select(_within(pl.col("opens").shift(-1), by).fill_null(value=True)).to_series()
    starts = rows.filter("opens").select(*keys, "start_ns")
    return starts.with_columns(rows.filter(closes)["end_ns"])


def minus(first: pl.DataFrame, second: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Return the stretches of ``first`` that no interval of ``second`` covers, as union does."""
    return _where(first, second, by, covered=False)


def common(first: pl.DataFrame, second: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Return the stretches that intervals of both cover, as union does."""
    return _where(first, second, by, covered=True)


def _where(
    first: pl.DataFrame, second: pl.DataFrame, by: str | None, *, covered: bool
) -> pl.DataFrame:
    """Return the stretches of ``first`` that ``second`` covers, or those that it does not."""
    keys = [by] if by else []
    ends = []
    for rows, one, other in ((first, 1, 0), (second, 0, 1)):
        stretches = union(rows, by)
        for column, sign in (("start_ns", 1), ("end_ns", -1)):
            ends.append(
                stretches.select(
                    *keys,
                    pl.col(column).alias("at"),
                    pl.lit(sign * one).alias("inside"),
                    pl.lit(sign * other).alias("cover"),
                )
            )
    # Of several ends at one moment each but the last opens a stretch of no length: no part of it.
    depths = ordered(pl.concat(ends), *keys, "at").select(
        *keys,
        pl.col("at").alias("start_ns"),
        _within(pl.col("at").shift(-1), by).alias("end_ns"),
        _within(pl.col("inside").cum_sum(), by),
        _within(pl.col("cover").cum_sum(), by),
    )
    wanted = (pl.col("inside") > 0) & ((pl.col("cover") > 0) == covered)
    return union(depths.filter(wanted, pl.col("end_ns").is_not_null()), by)


def cut(rows: pl.DataFrame, stretches: pl.DataFrame, by: str, **columns: pl.Expr) -> pl.DataFrame:
    """Return intervals, cut where those of ``stretches`` with an equal ``by`` begin and end.

    ``columns`` hold inside of them. ``stretches`` has start_ns and duration_ns; the order is
    not certain.
    """
    if stretches.is_empty():
        return rows
    end = pl.col("start_ns") + pl.col("duration_ns")
    numbered = rows.with_row_index("piece")
    covers = union(stretches.select(by, "start_ns", end_ns=end), by=by)
    spans = covers.select(by, low="start_ns", high="end_ns")
    inside = overlapping(numbered, spans, by).with_columns(
        start_ns=pl.max_horizontal("start_ns", "low"),
        end_ns=pl.min_horizontal("end_ns", "high"),
        **columns,
    )
    touched = numbered.join(inside, on="piece", how="semi")
    outside = minus(touched, inside, by="piece").join(
        touched.drop("start_ns", "end_ns"), on="piece", how="left"
    )
    whole = numbered.join(inside, on="piece", how="anti")
    return pl.concat([part.select(rows.columns) for part in (inside, outside, whole)])


def overlapping(rows: pl.DataFrame, spans: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return each row beside each span with an equal ``by`` that it overlaps.

    ``spans`` has low and high; those of one ``by`` are disjoint.
    """
    spans = spans.sort(by, "low").with_row_index("at")
    rows = rows.drop_nulls(by).with_row_index("row")
    # Disjoint spans follow one another: those that a row overlaps are a range of them.
    # Both sides are sorted; polars does not check groups, and would warn of that.
    first = rows.select("row", by, since=pl.col("start_ns") + 1).sort("since")
    first = first.join_asof(
        spans.select(by, "at", "high").sort("high"),
        left_on="since",
        right_on="high",
        by=by,
        strategy="forward",
        check_sortedness=False,
    )
    last = rows.select("row", by, until=pl.col("end_ns") - 1).sort("until")
    last = last.join_asof(
        spans.select(by, "low", after=pl.col("at") + 1).sort("low"),
        left_on="until",
        right_on="low",
        by=by,
        strategy="backward",
        check_sortedness=False,
    )
    places = first.drop_nulls("at").join(last.select("row", "after"), on="row")
    places = places.filter(pl.col("at") < pl.col("after"))
    places = places.select("row", at=pl.int_ranges("at", "after")).explode("at")
    beside = [rows.drop("row")[places["row"]], spans.drop(by, "at")[places["at"]]]
    return pl.concat(beside, how="horizontal")


def inside(rows: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return the rows (start_ns) that start in one of the sorted, disjoint stretches."""
    begun = stretches["start_ns"].search_sorted(rows["start_ns"], side="right")
    none = pl.Series([None], dtype=pl.Int64)
    until = pl.concat([none, stretches["end_ns"]]).gather(begun)
    within = rows["start_ns"] < until
    return rows if within.all(ignore_nulls=False) else rows.filter(within)


def with_ended(rows: pl.DataFrame, ended: pl.DataFrame) -> pl.DataFrame:
    """Return rows by start_ns, with the columns of the one of ``ended`` that ended last by then.

    ``ended`` has end_ns, which is left out; the other columns are null where nothing had ended.
    """
    return (
        ordered(rows, "start_ns")
        .join_asof(
            ordered(ended, "end_ns"), left_on="start_ns", right_on="end_ns", check_sortedness=False
        )
        .drop("end_ns")
    )


def ordered(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Return rows sorted by columns of integers; equal ones stay in their order.

    One column after another, the first key last: a sort by several takes many times as long, and
    most rows lie in the order of some of them already.
    """
    for key in reversed(keys):
        rows = rows if rows[key].is_sorted() else rows.sort(key, maintain_order=True)
    return rows.with_columns(pl.col(keys[0]).set_sorted())  # which speeds up grouping by it


def covered(intervals: pl.DataFrame) -> int:
    """Return the time in ns that intervals without nulls cover: the length of their union."""
    start, end = pl.col("start_ns"), pl.col("end_ns")
    alone = end - pl.max_horizontal(start, end.cum_max().shift(1))
    return int(ordered(intervals, "start_ns").select(alone.clip(0).sum()).item())


def uncovered(first: pl.DataFrame, second: pl.DataFrame) -> int:
    """Return the time in ns that intervals of ``first`` cover and none of ``second`` does."""
    both = pl.concat([rows.select("start_ns", "end_ns") for rows in (first, second)])
    return covered(both) - covered(second)


def length(intervals: pl.DataFrame) -> int:
    """Return the sum of the intervals' lengths in ns; of a union, the time that it covers."""
    return int((intervals["end_ns"] - intervals["start_ns"]).sum())


def _within(expression: pl.Expr, by: str | None) -> pl.Expr:
    return expression.over(by) if by else expression
