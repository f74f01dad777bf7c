"""A table leaves out what says nothing, and what would not fit stands below."""

from hypothesis import given
from hypothesis import strategies as st

from harness.report.columns import MOST_COLUMNS, NOT_MEASURED, Grid, fitting
from harness.report.escape import table
from tests.support.pages import rows_of


def test_a_column_of_one_value_is_said_above_the_table() -> None:
    rows = [["a", "8", "1"], ["b", "8", "2"], ["c", "8", "3"]]
    shown = table(["kernel", "launches", "time"], rows)
    assert shown.startswith("*In every row: launches: 8.*\n\n| kernel | time |")
    assert rows_of(shown)[1:] == [["a", "1"], ["b", "2"], ["c", "3"]]


def test_two_rows_that_agree_are_a_result_and_stay() -> None:
    assert rows_of(table(["a", "b"], [["x", "8"], ["y", "8"]])) == [
        ["a", "b"],
        ["x", "8"],
        ["y", "8"],
    ]


def test_a_gap_is_a_dash_and_a_column_of_gaps_is_named() -> None:
    rows = [["a", "1", NOT_MEASURED, NOT_MEASURED], ["b", "2", "3", NOT_MEASURED]]
    shown = table(["variant", "time", "bytes", "power"], rows)
    assert rows_of(shown) == [["variant", "time", "bytes"], ["a", "1", "–"], ["b", "2", "3"]]
    assert shown.endswith("*Columns without a value: power.*\n\n*–: not measured.*")


def test_a_table_that_has_to_stay_whole_does() -> None:
    rows = [["a", "8"], ["b", "8"], ["c", "8"]]
    assert rows_of(table(["kernel", "launches"], rows, whole=True))[0] == ["kernel", "launches"]


@given(st.integers(1, 40), st.integers(0, 4))
def test_all_columns_are_there_once_on_tables_that_fit(columns: int, rows: int) -> None:
    head = [f"h{column}" for column in range(columns)]
    body = [[f"{row}.{column}" for column in range(columns)] for row in range(rows)]
    parts = fitting(Grid(head, body))
    assert all(len(part.head) <= MOST_COLUMNS for part in parts)
    assert [head[0], *(name for part in parts for name in part.head[1:])] == head
    for index, row in enumerate(body):
        assert {part.rows[index][0] for part in parts} == {row[0]}
        assert [row[0], *(cell for part in parts for cell in part.rows[index][1:])] == row
