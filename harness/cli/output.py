"""Printing: tables for people, JSON for programs; nothing in a name can steer the terminal."""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence

from harness.report.escape import printable


def as_json(value: object) -> None:
    """Print ``value`` as JSON on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False)
    print()


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a table; columns are right-aligned where every cell is a number or empty."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in rows]
    drawn = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for index, name in enumerate(head):
        filled = [row[index] for row in cells if row[index]]
        numeric = all(re.fullmatch(r"[-+\u2212–\d][\d.,x×%± ]*\D{0,6}", cell) for cell in filled)
        drawn.add_column(name, justify="right" if numeric and filled else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        width = shutil.get_terminal_size((100, 24)).columns
        console = Console(width=width, color_system=None)
    console.print(drawn)
