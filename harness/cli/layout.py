"""Widths of a table's columns: words stay whole while the columns fit, then lose their middle."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ELLIPSIS = "…"
_LEAST = 8
"""Characters that a shortened word keeps: both ends tell names apart."""


@dataclass(frozen=True)
class Column:
    """The head and the cells of a column; ``numeric``: a cell is not divided."""

    head: str
    cells: Sequence[str]
    numeric: bool

    @property
    def natural(self) -> int:
        """Return the width at which no line goes on in the next one."""
        return _longest(line for text in (self.head, *self.cells) for line in text.split("\n"))

    @property
    def divided(self) -> int:
        """Return the width at which only words stay whole, and numbers with their units."""
        cells = self.cells if self.numeric else _words(self.cells)
        return _longest([*_words([self.head]), *cells])

    @property
    def least(self) -> int:
        """Return the width at which words are shortened, and numbers still whole."""
        return _longest(self.cells) if self.numeric else min(_LEAST, self.divided)


def widths(columns: Sequence[Column], room: int) -> list[int]:
    """Return the width of each column, so that they take ``room`` characters together.

    The widest column gives way first: between words, then within them. Where numbers alone need
    more, the sum is more than ``room``.
    """
    chosen = [column.natural for column in columns]
    for floors in ([each.divided for each in columns], [each.least for each in columns]):
        chosen = _narrowed(chosen, floors, room)
    return chosen


def middle(text: str, width: int) -> str:
    """Return ``text`` with each word that is longer than ``width`` shortened in its middle."""
    return "\n".join(
        " ".join(_cut(word, width) for word in line.split(" ")) for line in text.split("\n")
    )


def _words(texts: Iterable[str]) -> Iterator[str]:
    return (word for text in texts for word in text.split())


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _narrowed(chosen: list[int], least: list[int], room: int) -> list[int]:
    """Return widths from which the widest were taken until they fit, none below its least."""
    chosen = list(chosen)
    while sum(chosen) > room:
        spare = [place for place, width in enumerate(chosen) if width > least[place]]
        if not spare:
            break
        widest = max(spare, key=lambda place: chosen[place])
        chosen[widest] -= 1
    return chosen


def _cut(word: str, width: int) -> str:
    if len(word) <= width:
        return word
    tail = (width - 1) // 2
    return word[: width - 1 - tail] + ELLIPSIS + word[len(word) - tail :]
