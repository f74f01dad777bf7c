"""The middle of a long timeline, as if only that had been recorded.

What joins operations, calls and ranges takes a kilobyte an operation. Of a timeline of millions it
is done for as many events as MOST, in the middle, where a program is past its first steps.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from harness.evidence.capture import Part

if TYPE_CHECKING:
    import polars as pl

MOST = 750_000
"""Events of a section: GPU operations, host calls, waits and ranges."""
PART = "part read"
"""The condition of a capture that says which section of it was read, if not all."""

TIMED = ("gpu_ops", "api_calls", "waits", "ranges")
"""The tables whose rows are events."""

_PARTS = 4096
"""The parts of a stretch whose events are counted at once."""

Counted = Callable[[int, int, int], Mapping[int, int]]
"""From the start of a stretch, its end and a part's length, in ns, to the events in each part."""


def middle(count: int, first_ns: int, last_ns: int, counted: Counted) -> Part | None:
    """Return the middle of ``count`` events that begin between two times, None if it is all.

    Where so many begin at one time that none of them can be left out, the section is empty; so it
    is where fewer are counted.
    """
    if count <= MOST:
        return None
    start, end, skipped = first_ns, last_ns + 1, 0
    nothing = Part(start, start, 0, count, first_ns)
    while True:
        width = max(1, -(-(end - start) // _PARTS))
        sizes = sorted(counted(start, end, width).items())
        while sizes and skipped + sizes[0][1] <= (count - MOST) // 2:
            skipped += sizes.pop(0)[1]
        if not sizes:
            return nothing
        part, size = sizes[0]
        if size <= MOST or width == 1:
            break
        start, end = start + part * width, start + (part + 1) * width
    held = 0
    for number, more in sizes:
        if held + more > MOST:
            break
        held, last = held + more, number
    if not held:
        return nothing
    until = min(start + (last + 1) * width, end)  # the last part may reach beyond
    return Part(start + part * width, until, held, count, first_ns)


def of(tables: "dict[str, pl.DataFrame]") -> Part | None:
    """Return the middle of a timeline's tables, None if it is all of them."""
    return among([tables[name]["start_ns"] for name in TIMED if name in tables])


def among(tables: "Iterable[pl.Series]") -> Part | None:
    """Return the middle of events that begin at these times, in ns; None if it is all of them."""
    import polars as pl

    none = pl.Series("start_ns", dtype=pl.Int64)
    starts = pl.concat([none, *(table.drop_nulls().rename(none.name) for table in tables)])
    if starts.len() <= MOST:
        return None

    def counted(start: int, end: int, width: int) -> dict[int, int]:
        inside = starts.filter(starts.is_between(start, end - 1))  # as 2^63 is no Int64
        # A difference of two times may have 64 bits.
        parts = (inside - start).cast(pl.UInt64, wrap_numerical=True) // width
        return dict(parts.value_counts().iter_rows())

    first, last = starts.to_frame().select(first=pl.min(none.name), last=pl.max(none.name)).row(0)
    return middle(starts.len(), first, last, counted)


def cut(tables: "dict[str, pl.DataFrame]", section: Part) -> "dict[str, pl.DataFrame]":
    """Return the tables of a section: its events, and of ranges those that end in it, too."""
    kept = {name: _cut(name, tables[name], section) for name in TIMED if name in tables}
    if "origins" in tables:
        left = kept["gpu_ops"].select("correlation").unique()
        kept["origins"] = tables["origins"].join(left, on="correlation", how="semi")
    return tables | kept


def _cut(name: str, rows: "pl.DataFrame", section: Part) -> "pl.DataFrame":
    import polars as pl

    begin = pl.col("start_ns")
    inside = begin.is_between(section.start_ns, section.end_ns, closed="left")
    if name == "ranges":
        inside &= begin + pl.col("duration_ns") <= section.end_ns
    return rows.filter(inside)
