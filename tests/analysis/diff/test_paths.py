"""The innermost range around each launch, against a search through all of them."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff.paths import with_paths
from harness.evidence.tables import empty, frame

Range = tuple[str, int, int | None, int]
Call = tuple[int, int, int]


def paths(ranges: list[Range], calls: list[Call], ops: list[int | None]) -> list[str | None]:
    """Return the paths of operations, by ranges (name, start, length, thread) and calls."""
    columns = list(zip(*ranges, strict=True)) or [()] * 4
    named = dict(zip(("name", "start_ns", "duration_ns", "thread"), columns, strict=True))
    columns = list(zip(*calls, strict=True)) or [()] * 3
    launches = dict(zip(("correlation", "start_ns", "thread"), columns, strict=True))
    rows = with_paths(
        frame("gpu_ops", {"correlation": ops}),
        frame("api_calls", launches),
        frame("ranges", named),
    )
    assert rows["correlation"].to_list() == ops, "no operation is lost or moved"
    return rows["path"].to_list()


def searched(ranges: list[Range], at: int, thread: int) -> str | None:
    open_ = [
        (start, name)
        for name, start, length, where in ranges
        if length is not None and where == thread and start <= at < start + length
    ]
    return max(open_)[1] if open_ else None


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.none() | st.integers(0, 25), st.integers(0, 2)),
        max_size=12,
        unique_by=lambda one: one[::2],  # of two that began at once neither is the inner one
    ),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), max_size=12),
)
def test_the_path_is_the_open_range_that_began_last(
    spans: list[tuple[int, int | None, int]], launches: list[tuple[int, int]]
) -> None:
    ranges = [(f"r{number}", *one) for number, one in enumerate(spans)]
    calls = [(number, *one) for number, one in enumerate(launches)]
    expected = [searched(ranges, at, thread) for _, at, thread in calls]
    assert paths(ranges, calls, [number for number, *_ in calls]) == expected


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (9, None),
        (10, "outer"),
        (20, "inner"),
        (29, "inner"),
        (30, "outer"),
        (49, "outer"),
        (50, None),
    ],
)
def test_nested_ranges_are_open_from_start_to_just_before_their_end(
    at: int, expected: str | None
) -> None:
    assert paths([("outer", 10, 40, 1), ("inner", 20, 10, 1)], [(5, at, 1)], [5]) == [expected]


def test_ranges_that_overlap_without_nesting() -> None:
    ranges: list[Range] = [("first", 0, 20, 1), ("second", 10, 30, 1)]
    calls = [(number, at, 1) for number, at in enumerate((5, 15, 25, 45))]
    assert paths(ranges, calls, [0, 1, 2, 3]) == ["first", "second", "second", None]


def test_threads_have_ranges_of_their_own() -> None:
    ranges: list[Range] = [("mine", 0, 100, 1), ("yours", 50, 10, 2)]
    calls = [(1, 55, 1), (2, 55, 2), (3, 55, 3)]
    assert paths(ranges, calls, [3, 2, 1]) == [None, "yours", "mine"]


def test_an_operation_whose_launch_is_unknown_has_no_path() -> None:
    assert paths([("r", 0, 100, 1)], [(1, 5, 1)], [None, 9, 1, 1]) == [None, None, "r", "r"]
    assert paths([], [(1, 5, 1)], [1]) == [None]
    assert paths([("r", 0, 100, 1)], [], [1]) == [None]
    none = with_paths(empty("gpu_ops"), empty("api_calls"), empty("ranges"))
    assert none.schema["path"] == pl.String
    assert none.is_empty()


def test_tables_of_evidence_have_their_cell_in_front() -> None:
    tables = (
        frame("gpu_ops", {"correlation": [1]}),
        frame("api_calls", {"correlation": [1], "start_ns": [5], "thread": [1]}),
        frame("ranges", {"name": ["r"], "start_ns": [0], "duration_ns": [9], "thread": [1]}),
    )
    cell = pl.lit("case.variant.nsys.r0").alias("cell")
    rows = with_paths(*(table.insert_column(0, cell) for table in tables))
    assert rows["path"].to_list() == ["r"]
