"""Printing: lines and tables for people, JSON for programs; no name can steer the terminal.

No command prints otherwise.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Literal

from harness.plain import plain


def as_json(value: object) -> None:
    """Print ``value`` as JSON on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False)
    print()


def say(line: str = "", *, to_stderr: bool = False) -> None:
    """Print one line."""
    print(plain(line), file=sys.stderr if to_stderr else sys.stdout)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a table; columns are right-aligned where every cell is a number or empty.

    A head may have several lines.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[plain(cell) for cell in row] for row in rows]
    heading = Text(plain(title), style="table.title") if title else None
    drawn = Table(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for index, name in enumerate(head):
        filled = [row[index] for row in cells if row[index]]
        numeric = all(re.fullmatch(r"[-+\u2212–\d][\d.,x×%± ]*\D{0,6}", cell) for cell in filled)
        justify: Literal["left", "right"] = "right" if numeric and filled else "left"
        shown = Text("\n".join(map(plain, name.split("\n"))))
        drawn.add_column(shown, justify=justify, overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        width = shutil.get_terminal_size((100, 24)).columns
        console = Console(width=width, color_system=None)
    console.print(drawn)
