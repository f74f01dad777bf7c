"""What Qwen2.5-VL's vision encoder needs to know of a batch's grids, without a model or a device.

Its attention is within windows of 4 × 4 merged patches in most blocks, within a frame in the rest.
Patches are ordered by window, so a window or a frame is a stretch of consecutive rows.
"""

import math
from dataclasses import dataclass

Grid = tuple[int, int, int]
"""Frames over the temporal patch, rows and columns of patches."""

MERGE = 2
"""Patches on each side of a square that becomes one token."""
WINDOW = 4
"""Tokens on each side of a window: 112 pixels."""


@dataclass(frozen=True)
class Slots:
    """Segments padded to the longest, ``width`` rows each.

    ``rows``: of each segment its rows, then its first row again as padding; ``lengths``: how many
    of them are its own; ``back``: the place of each row among all segments' slots.
    """

    rows: list[list[int]]
    lengths: list[int]
    back: list[int]

    @property
    def width(self) -> int:
        """Return the slots of a segment."""
        return len(self.rows[0])

    @property
    def padded(self) -> float:
        """Return the share of slots that hold no row of their own."""
        return 1 - sum(self.lengths) / (len(self.rows) * self.width)


def tokens(grid: Grid) -> int:
    """Return the tokens of an image or clip."""
    return math.prod(grid) // MERGE**2


def window_lengths(grid: Grid) -> list[int]:
    """Return the patches of each window, in the encoder's order: by frame, row and column."""
    frames, rows, columns = grid
    sides = [
        [min(WINDOW, side - at) for at in range(0, side, WINDOW)]
        for side in (rows // MERGE, columns // MERGE)
    ]
    return [MERGE**2 * high * wide for _ in range(frames) for high in sides[0] for wide in sides[1]]


def frame_lengths(grid: Grid) -> list[int]:
    """Return the patches of each frame."""
    frames, rows, columns = grid
    return [rows * columns] * frames


def slots(lengths: list[int]) -> Slots:
    """Return consecutive segments of such lengths, padded to the longest."""
    width, rows, back, at = max(lengths), [], [], 0
    for segment, length in enumerate(lengths):
        own = list(range(at, at + length))
        rows.append(own + [at] * (width - length))
        back += [segment * width + place for place in range(length)]
        at += length
    return Slots(rows, lengths, back)


def calls(grids: list[Grid], blocks: int, whole: int) -> int:
    """Return the attention calls of transformers' own code on a batch, one a window or frame.

    ``blocks``: of the encoder; ``whole``: of them with attention within a frame.
    """
    windows = sum(len(window_lengths(grid)) for grid in grids)
    frames = sum(len(frame_lengths(grid)) for grid in grids)
    return (blocks - whole) * windows + whole * frames


def feed_forward_flop(grids: list[Grid], width: int, hidden: int, blocks: int) -> float:
    """Return the operations of the encoder's feed-forward layers: three products of each block."""
    return 2.0 * sum(math.prod(grid) for grid in grids) * 3 * width * hidden * blocks


def flop(grids: list[Grid], width: int, hidden: int, blocks: int, whole: int) -> float:
    """Return the encoder's operations: products of each block, and attention's two."""
    patches = sum(math.prod(grid) for grid in grids)
    products = 2 * patches * (4 * width**2 + 3 * width * hidden) * blocks
    pairs = (blocks - whole) * sum(n**2 for grid in grids for n in window_lengths(grid))
    pairs += whole * sum(n**2 for grid in grids for n in frame_lengths(grid))
    return products + 4.0 * pairs * width
