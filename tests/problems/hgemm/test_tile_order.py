"""Every tile is computed once, whatever the shape of C and the number of blocks."""

import ctypes

from hypothesis import given
from hypothesis import strategies as st


def order(layout: ctypes.CDLL, rows: int, columns: int, group: int) -> list[tuple[int, int]]:
    tiles = (layout.c_grouped_tile(i, rows, columns, group) for i in range(rows * columns))
    return [divmod(tile, 1 << 16) for tile in tiles]


@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 40))
def test_grouped_order_visits_each_tile_once(
    layout: ctypes.CDLL, rows: int, columns: int, group: int
) -> None:
    visited = order(layout, rows, columns, group)
    assert len(set(visited)) == len(visited) == rows * columns
    assert all(0 <= row < rows and 0 <= column < columns for row, column in visited)


def touched(visited: list[tuple[int, int]], height: int, width: int, at_once: int) -> float:
    """Elements of A's rows and B's columns that the tiles running at once read, on average."""
    waves = [visited[i : i + at_once] for i in range(0, len(visited) - at_once + 1, at_once)]
    read = [
        height * len({row for row, _ in wave}) + width * len({column for _, column in wave})
        for wave in waves
    ]
    return sum(read) / len(read)


def test_groups_read_less_at_a_time_than_rows(layout: ctypes.CDLL) -> None:
    """8192 x 8192 in tiles of 128 x 256, 132 at a time."""
    by_rows = [(row, column) for row in range(64) for column in range(32)]
    grouped = order(layout, 64, 32, 16)
    assert touched(grouped, 128, 256, 132) < 0.6 * touched(by_rows, 128, 256, 132)
