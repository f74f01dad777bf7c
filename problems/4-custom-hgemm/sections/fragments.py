"""Which lane gives the address of what ldmatrix loads, and which lane then holds it."""

from harness.report.chart import BLUE, FAINT, GAP, GREEN, ORANGE, SERIES, Figure
from harness.report.colours import lighter
from harness.report.drawing import LINE, Drawing

_ROWS, _COLUMNS = 16, 8
_OF_REGISTER = (BLUE, ORANGE, GREEN, SERIES[3])
_CELL, _HIGH, _CHUNK, _BETWEEN, _LEFT = 23, 17, 46, 18, 28
"""Pixels of a pair of elements, of a row, of a chunk of 16 bytes, between panels, at the left."""


def addressing_lane(row: int, chunk: int) -> int:
    """Return the lane that gives ldmatrix the address of 8 elements of A's fragment (p3)."""
    return row + _ROWS * chunk


def matrix(row: int, chunk: int) -> int:
    """Return which of the four matrices of 8 × 8 a row's chunk belongs to, so which register."""
    return addressing_lane(row, chunk) // 8


def holding_lane(row: int, pair: int) -> int:
    """Return the lane that holds two neighbouring elements after ldmatrix, or of the sums."""
    return row % 8 * 4 + pair % 4


def draw() -> Figure:
    """Return a panel of addresses, one of A's fragment, and one of the sums."""
    panels = (_LEFT, _LEFT + 2 * _CHUNK + _BETWEEN, _LEFT + 2 * _CHUNK + 8 * _CELL + 2 * _BETWEEN)
    top = 3 * LINE
    drawing = Drawing(panels[2] + 4 * _CELL, top + _ROWS * _HIGH + LINE)
    titles = (
        ("ldmatrix.x4:", "lane that gives", "the address"),
        ("A's fragment, 16 of K:", "lane that holds", "the two elements"),
        ("16 × 8 of C:", "lane that", "stores both"),
    )
    for left, lines in zip(panels, titles, strict=True):
        for line, text in enumerate(lines):
            drawing.text((left, (line + 0.5) * LINE), text)
    for row in range(_ROWS):
        y = top + row * _HIGH
        drawing.text((_LEFT - GAP, y + _HIGH / 2), str(row), "right", FAINT)
        for chunk in (0, 1):
            colour, lane = _OF_REGISTER[matrix(row, chunk)], addressing_lane(row, chunk)
            drawing.box((panels[0] + chunk * _CHUNK, y), (_CHUNK, _HIGH), colour, str(lane))
        for pair in range(8):
            colour, lane = _OF_REGISTER[matrix(row, pair // 4)], holding_lane(row, pair)
            drawing.box((panels[1] + pair * _CELL, y), (_CELL, _HIGH), colour, str(lane))
        for pair in range(4):
            colour = lighter(FAINT, 0.2 if row < 8 else 0.5)
            corner = (panels[2] + pair * _CELL, y)
            drawing.box(corner, (_CELL, _HIGH), colour, str(holding_lane(row, pair)))
    entries = {colour: f"register {n}" for n, colour in enumerate(_OF_REGISTER)}
    drawing.key((_LEFT, top + _ROWS * _HIGH + LINE / 2), entries)
    return drawing.svg()
