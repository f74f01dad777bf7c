"""Parts a table need not show: columns of one value, unmeasured cells, more columns than fit."""

from typing import NamedTuple

NOT_MEASURED = "not measured"
DASH = "–"

MOST_COLUMNS = 6
"""Columns that fit a page's width; more make another table below."""

_FEWEST_ROWS = 3
"""Rows from which on a column of one value is said above the table instead."""

Rows = list[list[str]]


class Grid(NamedTuple):
    """Heads and rows of one table."""

    head: list[str]
    rows: Rows


class Tidy(NamedTuple):
    """A table without its columns of one value: ``same`` has their heads and values.

    ``empty`` are the heads of columns without any value; ``has_gaps`` says whether a cell of
    the others is one that was not measured, which is shown as a dash.
    """

    grid: Grid
    same: list[tuple[str, str]]
    empty: list[str]
    has_gaps: bool


def tidy(head: list[str], rows: Rows) -> Tidy:
    """Return a table without columns that say nothing; the first one, of labels, stays."""
    same, empty, kept = [], [], [0]
    for index, name in enumerate(head[1:], start=1):
        values = {row[index] for row in rows}
        if rows and values <= {NOT_MEASURED, DASH}:
            empty.append(name)
        elif len(values) == 1 and len(rows) >= _FEWEST_ROWS:
            same.append((name, rows[0][index]))
        else:
            kept.append(index)
    shown = [[row[index] for index in kept] for row in rows]
    has_gaps = any(cell == NOT_MEASURED for row in shown for cell in row)
    dashed = [[DASH if cell == NOT_MEASURED else cell for cell in row] for row in shown]
    return Tidy(Grid([head[index] for index in kept], dashed), same, empty, has_gaps)


def fitting(grid: Grid) -> list[Grid]:
    """Return a table as those that fit a page's width, each with the column of labels."""
    count, room = len(grid.head) - 1, MOST_COLUMNS - 1
    parts = max(1, -(-count // room))
    size = -(-count // parts)
    cuts = [range(1 + start, 1 + min(start + size, count)) for start in range(0, count, size or 1)]
    return [
        Grid(
            [grid.head[0], *(grid.head[index] for index in cut)],
            [[row[0], *(row[index] for index in cut)] for row in grid.rows],
        )
        for cut in cuts
    ] or [grid]
