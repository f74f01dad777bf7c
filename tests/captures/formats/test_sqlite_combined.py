"""Columns fetched as one, against SQLite's own rows: any integer, any null."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.captures.formats import sqlite_file
from harness.captures.formats.sqlite_combined import fetch_combined
from harness.ground.errors import CaptureError

Row = tuple[int | None, ...]
COLUMNS = ("size x", "y", "late")
# The ends of what a character holds, the character of none, and halves of characters.
EDGES = [0, 1, 127, 128, 65_533, 55_296, 57_343, 1_114_111, 1_114_112, -1]
INTEGERS = st.one_of(
    st.integers(0, 200), st.sampled_from([*EDGES, 1 << 40]), st.integers(-(1 << 63), (1 << 63) - 1)
)


def table(path: Path, rows: Sequence[Row]) -> Path:
    with closing(sqlite3.connect(path)) as file:
        file.execute("DROP TABLE IF EXISTS t")
        file.execute('CREATE TABLE t (start INTEGER, "size x" INTEGER, y INTEGER NOT NULL, late)')
        file.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        file.commit()
    return path


def fetched(path: Path) -> list[Row]:
    with sqlite_file.opened(path) as file:
        rows, combinations = fetch_combined(file, "t", {"start": "INTEGER"}, COLUMNS)
    assert combinations.is_unique().all()
    joined = rows.select("start").hstack(combinations[rows["combination"].to_list()])
    return joined.rows()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(INTEGERS, st.none() | INTEGERS, INTEGERS, st.none() | INTEGERS), max_size=12)
)
def test_rows_are_those_of_sqlite(tmp_path: Path, rows: list[Row]) -> None:
    assert fetched(table(tmp_path / "t.sqlite", rows)) == rows


@pytest.mark.parametrize("edge", EDGES)
def test_every_kind_of_integer_is_read_right(edge: int, tmp_path: Path) -> None:
    rows: list[Row] = [(1, edge, 2, 3), (2, 1, edge, 3), (3, 1, 2, edge), (4, None, 2, None)]
    assert fetched(table(tmp_path / "t.sqlite", rows)) == rows


def test_other_values_and_absent_columns_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "t.sqlite", [(1, 2, 3, 4)])
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE t SET y = 'seven'")
        file.commit()
    with pytest.raises(CaptureError, match="column y holds other things than integers"):
        fetched(path)
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE t DROP COLUMN late")
        file.commit()
    with pytest.raises(CaptureError, match="has no column late"):
        fetched(path)
