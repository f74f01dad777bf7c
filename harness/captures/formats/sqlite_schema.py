"""How long the schema of an SQLite file is, found without SQLite.

SQLite parses every statement of the schema when a file is opened, and nothing bounds it. The schema
is a b-tree whose root is the first page (https://sqlite.org/fileformat2.html, 1.3, 1.6 and 2.6).
"""

from pathlib import Path

from harness.ground.errors import CaptureError

_MOST_ROWS = 4000
"""Tables, indices, views and triggers; exports of nsys have up to 150."""
_HEADER = 100  # bytes of the file before the first page's own
_INTERIOR, _LEAF = 5, 13


def check(path: Path) -> None:
    """Raise CaptureError if the schema of the file at ``path`` has too many rows.

    What is no b-tree of tables counts as none: SQLite will say so.
    """
    rows, pages, seen = 0, [1], set[int]()
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(18)[16:], "big")
            size = 1 << 16 if size == 1 else size
            while pages and rows <= _MOST_ROWS and len(seen) <= _MOST_ROWS:
                number = pages.pop()
                if number in seen:
                    continue
                seen.add(number)
                file.seek((number - 1) * size)
                page = file.read(size)
                leaves, children = _cells(page, _HEADER if number == 1 else 0)
                rows += leaves
                pages += children
    except OSError as error:
        raise CaptureError(f"not readable: {error.strerror}", where=path) from error
    if rows > _MOST_ROWS or len(seen) > _MOST_ROWS:
        raise CaptureError(
            f"a schema of more than {_MOST_ROWS:,} tables, indices and views", where=path
        )


def _cells(page: bytes, at: int) -> tuple[int, list[int]]:
    """Return how many rows a page holds, and the numbers of the pages below it."""
    kind, count = page[at : at + 1], int.from_bytes(page[at + 3 : at + 5], "big")
    if kind == bytes([_LEAF]):
        return count, []
    if kind != bytes([_INTERIOR]):
        return 0, []
    pointers = [
        int.from_bytes(page[start : start + 2], "big")
        for start in range(at + 12, at + 12 + 2 * count, 2)
    ]
    below = [int.from_bytes(page[pointer : pointer + 4], "big") for pointer in pointers]
    below.append(int.from_bytes(page[at + 8 : at + 12], "big"))
    return 0, [number for number in below if number > 0]
