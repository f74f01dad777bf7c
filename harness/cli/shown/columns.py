"""Columns of a table of rows: the value of a row in a cell, and its print."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NOT_MEASURED = "\N{EN DASH}"
_MOST_ROWS = 30

_NARROW = 100

Cell = Callable[[dict[str, Any]], str]


def narrow() -> bool:
    """Return whether the terminal has fewer columns than whole tables of kernels need."""
    return shutil.get_terminal_size((_NARROW, 24)).columns < _NARROW


def without(columns: dict[str, Cell], *names: str) -> dict[str, Cell]:
    """Return the columns but those of these names."""
    return {name: cell for name, cell in columns.items() if name not in names}


def print_rows(
    title: str,
    rows: Sequence[dict[str, Any]],
    columns: dict[str, Cell],
    most: int = _MOST_ROWS,
    *,
    whole: bool = False,
) -> None:
    """Print the first rows as a table, and how many more there are.

    ``whole``: no word is shortened.
    """
    from harness.cli import output

    if not rows:
        return
    cells: Iterable[list[str]] = ([cell(row) for cell in columns.values()] for row in rows[:most])
    output.table(list(columns), cells, title, whole=whole)
    if len(rows) > most:
        output.say(f"… and {len(rows) - most} more: --json prints all")
        output.say()


def text(key: str) -> Cell:
    """Print a value unchanged, a dash where it was not measured."""
    return lambda row: NOT_MEASURED if row.get(key) is None else str(row[key])


def first(key: str, cell: Callable[[str], Cell]) -> Cell:
    """Print what only the first row of several has, and nothing in the others."""
    return lambda row: cell(key)(row) if key in row else ""


def number(key: str, scale: float = 1, digits: int = 0) -> Cell:
    """Print a figure in units of ``scale``, a dash where it was not measured."""
    return lambda row: NOT_MEASURED if row[key] is None else f"{row[key] / scale:,.{digits}f}"


def size(key: str) -> Cell:
    """Print a size in the largest decimal unit that it has one of."""

    def cell(row: dict[str, Any]) -> str:
        from harness.analysis import units

        return NOT_MEASURED if row.get(key) is None else units.size(row[key])

    return cell
