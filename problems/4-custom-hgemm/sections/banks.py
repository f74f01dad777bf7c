"""In which banks of shared memory the rows of a tile lie: plain, padded, swizzled."""

from typing import NamedTuple

from harness.report.chart import FAINT, GAP, SERIES, Figure
from harness.report.drawing import LINE, Drawing
from harness.report.escape import Markdown
from harness.report.page import Page

_ROWS, _CHUNKS, _CHUNK_BYTES = 8, 8, 16
"""What one ldmatrix reads for each of its matrices: a chunk of each of eight rows."""
_CELL, _BETWEEN = 16, 13
_LEFT = 30
"""Pixels for the numbers of rows."""


class Layout(NamedTuple):
    """How rows of a tile lie: ``pitch`` bytes from one to the next, chunks swizzled or not."""

    label: str
    pitch: int
    swizzled: bool

    def address(self, row: int, chunk: int) -> int:
        """Return the first byte of a row's chunk."""
        return row * self.pitch + _CHUNK_BYTES * (chunk ^ row % 8 if self.swizzled else chunk)

    def bank_group(self, row: int, chunk: int) -> int:
        """Return which four of the 32 banks hold a chunk: 0 is banks 0 to 3."""
        return self.address(row, chunk) // _CHUNK_BYTES % 8


LAYOUTS = (
    Layout("p1: plain", 256, swizzled=False),
    Layout("p2: padded", 272, swizzled=False),
    Layout("p4: XOR", 256, swizzled=True),
)
"""Of B's tile, whose rows have 256 bytes; the last is ``swizzle_256`` in kernels/layout.cuh."""


def banks(page: Page, name: str, caption: str) -> Markdown:
    """Draw the banks of eight chunks of eight rows of B's tile in three layouts."""
    return page.figure(name, "banks of the chunks of eight rows, by layout", draw(), caption)


def draw() -> Figure:
    """Return a panel per layout: rows down, chunks across, coloured by their four banks."""
    side = _CHUNKS * _CELL
    top = 2 * LINE
    drawing = Drawing(_LEFT + len(LAYOUTS) * (side + _BETWEEN) - _BETWEEN, top + side + LINE)
    for row in range(_ROWS):
        drawing.text((_LEFT - GAP, top + (row + 0.5) * _CELL), str(row), "right", FAINT)
    drawing.text((0, top - LINE / 2), "row", "left", FAINT)
    for place, layout in enumerate(LAYOUTS):
        left = _LEFT + place * (side + _BETWEEN)
        drawing.text((left, LINE / 2), layout.label)
        drawing.text((left + side / 2, top + side + LINE / 2), "chunk 0 to 7", "center", FAINT)
        for row in range(_ROWS):
            for chunk in range(_CHUNKS):
                group = layout.bank_group(row, chunk)
                corner = (left + chunk * _CELL, top + row * _CELL)
                drawing.box(corner, (_CELL, _CELL), SERIES[group], str(group))
    return drawing.svg()
