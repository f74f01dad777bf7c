"""Blocks that tensors hold at the time of a snapshot, by the code that asked for them."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.memory.stacks import Stacks
from harness.evidence.tables import frame
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.snapshot import Segment

_MOST_ROWS = 200_000
_KEYS = ("pool", "site", "stack")


def live(path: Path, segments: "list[Segment]", names: Stacks) -> "pl.DataFrame":
    """Return memory_live: count and bytes of live blocks by pool, site and stack, most first.

    The bytes asked for are null where any of the blocks does not tell. Segments without blocks
    have no rows. Raises CaptureError, naming ``path``, for over 200 000 rows.
    """
    rows: dict[tuple[str, str, str], list[int]] = {}
    for segment in segments:
        for block in segment.blocks or []:
            if not block.live:
                continue
            key = (segment.pool, names.site(block.frames), names.stack(block.frames))
            row = rows.setdefault(key, [0, 0, 0, 0])
            row[0] += 1
            row[1] += block.size
            row[2] += block.requested_size or 0
            row[3] += block.requested_size is None
        if len(rows) > _MOST_ROWS:
            raise CaptureError(f"more than {_MOST_ROWS} stacks of live blocks", where=path)
    ranked = sorted(rows.items(), key=lambda row: (-row[1][1], row[0]))
    keys = {name: [key[at] for key, _ in ranked] for at, name in enumerate(_KEYS)}
    sums = {
        "count": [row[0] for _, row in ranked],
        "bytes": [row[1] for _, row in ranked],
        "requested_bytes": [None if row[3] else row[2] for _, row in ranked],
    }
    return frame("memory_live", keys | sums)
