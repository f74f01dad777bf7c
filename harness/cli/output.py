"""Printing: lines and tables for people, JSON for programs; no name can steer the terminal.

No command prints otherwise.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from textwrap import wrap
from typing import Literal

from harness.cli import layout
from harness.ground.plain import plain


def as_json(value: object) -> None:
    """Print plain data and dataclasses as JSON on stdout; a path as its text."""
    json.dump(
        value, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False, default=_as_plain_data
    )
    print()


def _as_plain_data(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"no JSON: {type(value).__name__}")


def say(line: str = "", *, to_stderr: bool = False) -> None:
    """Print one line."""
    print(plain(line), file=sys.stderr if to_stderr else sys.stdout)


def prose(text: str, indent: str = "") -> None:
    """Print a sentence on as many lines as it needs, broken between words only.

    From the second line on, lines begin with ``indent``.
    """
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    for line in wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        say(line)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", *, whole: bool = False
) -> None:
    """Print a table; columns are right-aligned where every cell is a number or empty.

    A head may have several lines. Where the terminal is too narrow, text goes on in the next line,
    and words too long for their column lose their middle; ``whole``: they go on in the next line.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[plain(cell) for cell in row] for row in rows]
    heads = ["\n".join(map(plain, name.split("\n"))) for name in head]
    console = Console()
    if not console.is_terminal:
        console = Console(width=shutil.get_terminal_size((100, 24)).columns, color_system=None)
    columns = []
    for place, name in enumerate(heads):
        of_column = [row[place] for row in cells]
        columns.append(layout.Column(name, of_column, _is_numeric(of_column)))
    fitted = layout.widths(columns, console.width - len(_BETWEEN) * len(columns) + 1)
    heading = Text(plain(title), style="table.title") if title else None
    drawn = Table(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for column, width in zip(columns, fitted, strict=True):
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        drawn.add_column(Text(column.head), justify=justify, overflow="fold", max_width=width)
    for row in cells:
        shown = row if whole else map(layout.middle, row, fitted)
        drawn.add_row(*map(Text, shown))
    console.print(drawn)


_WIDEST = 100
"""The longest line of prose, however wide the terminal is."""
_BETWEEN = "   "
"""Between two columns."""


def _is_numeric(cells: Sequence[str]) -> bool:
    """Return whether cells hold nothing but numbers with their units, and at least one."""
    filled = [cell for cell in cells if cell]
    pattern = r"[-+\u2212–\d][\d.,x×%± ]*\D{0,6}"
    return bool(filled) and all(re.fullmatch(pattern, cell) for cell in filled)
