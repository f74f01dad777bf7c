"""A part of a difference as text: a table, lines, and a part that a page folds away."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import wrap

from harness.ground.plain import plain
from harness.report.escape import Markdown, escape, table

_TERMINAL = 80
"""Characters of a line on a terminal."""


@dataclass(frozen=True)
class Section:
    """A title, a lead above a table, lines under it, and notes, which a page folds away.

    The first ``words`` columns are of words, the others of numbers. A table without rows is left
    out. ``brief`` stands for the notes on a terminal.
    """

    title: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    lead: str = ""
    notes: list[str] = field(default_factory=list)
    words: int = 1
    brief: list[str] = field(default_factory=list)


def markdown(sections: Iterable[Section], level: int = 2) -> Markdown:
    """Return sections as Markdown under headings of ``level``; without a title, no heading."""
    parts: list[str] = []
    for section in sections:
        parts.append(f"{'#' * level} {escape(section.title)}" if section.title else "")
        parts.append(escape(section.lead))
        if section.rows:
            parts.append(table(section.head, section.rows, section.words, whole=True))
        parts += [escape(line) for line in section.lines]
        parts.append(_folded(section.notes) if section.notes else "")
    return Markdown("\n\n".join(part for part in parts if part))


def printed(section: Section) -> list[str]:
    """Return the lines of a section for a terminal, which stand under its table."""
    texts = [*section.lines, *(f"- {note}" for note in section.brief)]
    return [line for text in texts for line in wrapped(text)]


def wrapped(text: str) -> list[str]:
    """Return a text as lines for a terminal."""
    return wrap(plain(text), _TERMINAL)


def _folded(notes: list[str]) -> str:
    items = "\n".join(f"- {escape(note)}" for note in notes)
    return f"<details>\n<summary>Each part in full</summary>\n\n{items}\n\n</details>"
