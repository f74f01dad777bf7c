"""Which tiles of C run together, by their order, and which rows of A and columns of B they read."""

from collections.abc import Sequence, Set
from itertools import groupby
from typing import NamedTuple

from harness.report.chart import BLUE, FAINT, GAP, ORANGE, Figure
from harness.report.colours import lighter
from harness.report.drawing import LINE, Drawing
from harness.report.escape import Markdown
from harness.report.page import Page

_SIDE, _STRIP, _GAP = 160, 12, 4
"""Pixels of a panel's C, of the strips for A and B beside it, and between C and a strip."""
_LEFT, _TOP = 20 + _STRIP + _GAP, LINE + _STRIP + _GAP
"""Pixels from a panel's corner to that of its C."""
_ACROSS, _DOWN = _LEFT + _SIDE + 2 * GAP, _TOP + _SIDE + 2 * LINE
"""Pixels from a panel to the next."""
_REST, _PALEST = lighter(FAINT, 0.55), 0.85
"""The colour of what is not read, and how much paler the last wave is than the second."""
_ELEMENT_BYTES = 2

Tile = tuple[int, int]
"""Row and column, counted in tiles."""
Run = tuple[int, int]
"""First of successive numbers, and the number after the last."""


class Walk(NamedTuple):
    """An order of tiles of C; ``rows`` and ``columns`` of a tile are of elements.

    A tile is a CTA's or a cluster's. ``at_once``: so many run together. ``group``: rows of tiles
    that are walked column by column, 0 for row-major order.
    """

    step: str
    label: str
    rows: int
    columns: int
    at_once: int
    group: int

    def order(self, side: int) -> list[Tile]:
        """Return the tiles of a square C of ``side`` elements in the order in which they start."""
        down, across = -(-side // self.rows), -(-side // self.columns)
        if not self.group:
            return [divmod(index, across) for index in range(down * across)]
        return [grouped_tile(index, down, across, self.group) for index in range(down * across)]

    def waves(self, side: int) -> list[list[Tile]]:
        """Return the tiles that run together, wave by wave."""
        order = self.order(side)
        return [order[at : at + self.at_once] for at in range(0, len(order), self.at_once)]


WALKS = (
    Walk("p7", "row-major", 128, 128, 264, 0),
    Walk("p8", "groups of 16 rows", 128, 128, 264, 16),
    Walk("h6", "row-major", 256, 256, 66, 0),
    Walk("h7", "groups of 8 rows", 256, 256, 64, 8),
)
"""As steps.py says; of p7 and p8 two CTAs fit an SM. A Hopper step's tile is a cluster's."""


def grouped_tile(index: int, rows: int, columns: int, group: int) -> Tile:
    """Return the tile of an index, as ``grouped_tile`` in kernels/layout.cuh does."""
    which, inside = divmod(index, group * columns)
    first = which * group
    column, row = divmod(inside, min(rows - first, group))
    return first + row, columns - 1 - column if which % 2 else column


def footprint_bytes(walk: Walk, tiles: Sequence[Tile], depth: int) -> int:
    """Return the bytes of A's rows and B's columns that tiles read; ``depth``: elements of K."""
    down, across = ({tile[axis] for tile in tiles} for axis in (0, 1))
    lines = len(down) * walk.rows + len(across) * walk.columns
    return lines * depth * _ELEMENT_BYTES


def tile_walk(page: Page, name: str, side: int, caption: str) -> Markdown:
    """Draw the waves of four steps on a square product of ``side``."""
    about = "tiles that run together, and the rows of A and columns of B that they read"
    return page.figure(name, about, draw(side), caption)


def draw(side: int) -> Figure:
    """Return a panel per step: the waves of C, and what the first reads of A and B."""
    drawing = Drawing(2 * _ACROSS - 2 * GAP, 2 * _DOWN + LINE, gap=0)
    for place, walk in enumerate(WALKS):
        _panel(drawing, walk, side, (place % 2 * _ACROSS, place // 2 * _DOWN))
    entries = {BLUE: "first wave and what it reads", ORANGE: "later waves, paling"}
    drawing.key((0, 2 * _DOWN + LINE / 2), entries)
    return drawing.svg()


def _panel(drawing: Drawing, walk: Walk, side: int, at: tuple[float, float]) -> None:
    waves = walk.waves(side)
    first = waves[0]
    wide, high = _SIDE * walk.columns / side, _SIDE * walk.rows / side
    left, top = at[0] + _LEFT, at[1] + _TOP
    a, b = left - _STRIP - _GAP, top - _STRIP - _GAP
    drawing.text((at[0], at[1] + LINE / 2), f"{walk.step}: {walk.label}")
    drawing.text((a - GAP, top + _SIDE / 2), "A", "right")
    drawing.text((left + _SIDE, at[1] + LINE / 2), "B", "right")
    drawing.box((a, top), (_STRIP, _SIDE), _REST)
    drawing.box((left, b), (_SIDE, _STRIP), _REST)
    for start, end in runs({row for row, _ in first}):
        drawing.box((a, top + start * high), (_STRIP, (end - start) * high), BLUE)
    for start, end in runs({column for _, column in first}):
        drawing.box((left + start * wide, b), ((end - start) * wide, _STRIP), BLUE)
    for number, wave in enumerate(waves):
        colour = lighter(ORANGE, _PALEST * number / len(waves)) if number else BLUE
        for (above, below), (start, end) in blocks(wave):
            corner = (left + start * wide, top + above * high)
            drawing.box(corner, ((end - start) * wide, (below - above) * high), colour)
    read = footprint_bytes(walk, first, side) / (1 << 20)
    drawing.text((left, top + _SIDE + LINE / 2), f"first wave: {read:.0f} MiB")


def blocks(tiles: Sequence[Tile]) -> list[tuple[Run, Run]]:
    """Return the rectangles that tiles make up: begin and end of their rows, and of columns."""
    rows: dict[Run, list[int]] = {}
    for row in sorted({row for row, _ in tiles}):
        for run in runs({column for each, column in tiles if each == row}):
            rows.setdefault(run, []).append(row)
    return [(down, across) for across, numbers in rows.items() for down in runs(set(numbers))]


def runs(numbers: Set[int]) -> list[Run]:
    """Return begin and end of each run of successive numbers."""
    found = []
    for _, members in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in members]
        found.append((run[0], run[-1] + 1))
    return found
