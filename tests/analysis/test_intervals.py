"""Unions of intervals against the nanoseconds that they cover, counted one by one."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis import intervals

INTERVALS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(-3, 12)))
"""Group, start and duration; some last no time, or less."""


def frame(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    names = {"step": pl.Int64, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))


def covered(rows: list[tuple[int, int, int]]) -> set[int]:
    return {at for _, start, duration in rows for at in range(start, start + duration)}


@given(INTERVALS)
def test_a_union_covers_each_nanosecond_once_in_separate_stretches(
    rows: list[tuple[int, int, int]],
) -> None:
    union = intervals.union(frame(rows))
    stretches = union.rows()
    instants = [at for start, end in stretches for at in range(start, end)]
    assert len(instants) == len(set(instants)) == intervals.length(union)
    assert set(instants) == covered(rows)
    assert all(end < start for (_, end), (start, _) in pairwise(stretches))


@given(INTERVALS)
def test_what_is_covered_is_the_length_of_the_union(rows: list[tuple[int, int, int]]) -> None:
    table = frame(rows)
    for each in (table, intervals.ordered(table, "start_ns")):
        assert intervals.covered(each) == len(covered(rows))


@given(INTERVALS)
def test_groups_are_kept_apart(rows: list[tuple[int, int, int]]) -> None:
    union = intervals.union(frame(rows), by="step")
    for step in range(3):
        alone = intervals.union(frame([row for row in rows if row[0] == step]))
        assert union.filter(pl.col("step") == step).drop("step").equals(alone)


@given(INTERVALS, INTERVALS)
def test_common_and_minus_split_the_first_by_the_second(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    sides = frame(first), frame(second)
    for step in range(3):
        inside, cover = (
            covered([row for row in rows if row[0] == step]) for rows in (first, second)
        )
        for found, expected in (
            (intervals.common(*sides, by="step"), inside & cover),
            (intervals.minus(*sides, by="step"), inside - cover),
        ):
            stretches = found.filter(pl.col("step") == step).select("start_ns", "end_ns").rows()
            instants = [at for start, end in stretches for at in range(start, end)]
            assert len(instants) == len(set(instants))
            assert set(instants) == expected
    whole = covered(first), covered(second)
    assert intervals.length(intervals.common(*sides)) == len(whole[0] & whole[1])
    assert intervals.length(intervals.minus(*sides)) == len(whole[0] - whole[1])
    assert intervals.uncovered(*sides) == len(whole[0] - whole[1])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 9)), max_size=12),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), unique=True, max_size=12),
)
def test_rows_stand_beside_the_spans_that_they_overlap(
    rows: list[tuple[int, int, int]], spans: list[tuple[int, int]]
) -> None:
    pieces = pl.DataFrame(
        [(by, start, start + length) for by, start, length in rows],
        schema={"by": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64},
        orient="row",
    )
    ends = [(by, 2 * low, 2 * low + 2) for by, low in spans]
    covers = pl.DataFrame(
        ends, schema={"by": pl.Int64, "low": pl.Int64, "high": pl.Int64}, orient="row"
    )
    found = intervals.overlapping(pieces, covers, "by").rows()
    assert sorted(found) == sorted(
        (by, start, end, low, high)
        for by, start, end in pieces.rows()
        for on, low, high in ends
        if by == on and low < end and high > start
    )
