"""What only this study's page shows: a product's epilogue over time."""

from typing import NamedTuple

from harness.report.chart import BLUE, FAINT, ORANGE, Figure
from harness.report.colours import lighter
from harness.report.escape import Markdown
from harness.report.lanes import Span, draw
from harness.report.page import Page

STEPS = 768 // 64
"""Steps of K of a tile: of both products of 768 with an epilogue."""
BOXES, BUFFERS = 6, 4
"""Boxes of 64 × 64 of a consumer's tile, and how many its shared memory holds (TILINGS)."""
_LOAD, _WORK, _STORE = 3.0, 1.0, 1.0
"""Times of a box, in steps of K: from asking for it to its arrival, in registers, on its way out.
Nobody measured them."""
_READ, _OUT = lighter(ORANGE, 0.5), lighter(FAINT, 0.5)


class Box(NamedTuple):
    """When a box of D is asked for, is there, is worked on until, and has left as C."""

    buffer: int
    asked: float
    arrived: float
    begun: float
    worked: float
    stored: float


class Tile(NamedTuple):
    """When a consumer multiplies a tile, and the boxes of its epilogue."""

    consumer: int
    begun: float
    multiplied: float
    boxes: list[Box]


def epilogue(asked: float, begun: float) -> list[Box]:
    """Return a tile's boxes: the first are asked for together, each later one behind a store.

    ``begun``: when the tile's sums are ready. A box is asked for once the one before it, whose
    buffer it takes, has left (fused_product.cu).
    """
    boxes: list[Box] = []
    for number in range(BOXES):
        if number < BUFFERS:
            ask = asked
        else:
            ask = max(boxes[number - BUFFERS].stored, boxes[number - BUFFERS + 1].worked)
        start = max(ask + _LOAD, boxes[-1].worked if boxes else begun)
        worked = start + _WORK
        boxes.append(Box(number % BUFFERS, ask, ask + _LOAD, start, worked, worked + _STORE))
    return boxes


def played(count: int) -> list[Tile]:
    """Return ``count`` tiles of two consumers that alternate on the tensor cores."""
    tiles: list[Tile] = []
    for number in range(count):
        free = max(box.stored for box in tiles[-2].boxes) if number > 1 else 0.0
        begun = max(free, tiles[-1].multiplied if tiles else 0.0)
        ended = begun + STEPS
        tiles.append(Tile(number % 2, begun, ended, epilogue(free, ended)))
    return tiles


def epilogue_over_time(page: Page, name: str, caption: str) -> Markdown:
    """Draw both consumers, the tensor pipe, and the first consumer's buffers of boxes."""
    return page.figure(name, "consumers, tensor pipe and boxes over time", drawn(), caption)


def drawn() -> Figure:
    """Return the lanes of two tiles of each consumer."""
    tiles = played(6)
    spans = [span for consumer in (0, 1) for span in _consumer(tiles, consumer)]
    spans += [Span("tensor pipe", tile.begun, tile.multiplied, BLUE) for tile in tiles]
    for buffer in range(BUFFERS):
        lane = f"1's box {buffer}"
        for tile in (tile for tile in tiles if tile.consumer == 0):
            for box in (box for box in tile.boxes if box.buffer == buffer):
                spans.append(Span(lane, box.asked, box.arrived, _READ))
                spans.append(Span(lane, box.begun, box.worked, ORANGE))
                spans.append(Span(lane, box.worked, box.stored, _OUT))
    entries = {BLUE: "products", _READ: "read D", ORANGE: "work", _OUT: "store C"}
    return draw(spans, 3.6 * STEPS, entries)


def _consumer(tiles: list[Tile], consumer: int) -> list[Span]:
    lane = f"consumer {consumer + 1}"
    spans = []
    for number, tile in enumerate(tiles):
        if tile.consumer == consumer:
            spans.append(Span(lane, tile.begun, tile.multiplied, BLUE, f"tile {number}"))
            spans += [Span(lane, box.begun, box.worked, ORANGE) for box in tile.boxes]
    return spans
