"""The middle of an export's timeline, found by counting: no event is held."""

from collections import Counter
from pathlib import Path

from harness.captures.formats.sqlite_file import SqliteFile, opened
from harness.captures.nsys.names import DOMAIN_TYPE
from harness.evidence import section as sections
from harness.evidence.capture import Part

_ONE = "typeof(start) = 'integer'"


def find(path: Path, events: tuple[str, ...]) -> Part | None:
    """Return the middle of a long timeline, None of one that can be read whole.

    ``events`` are the tables that may hold its events.
    """
    with opened(path) as file:
        known = [table for table in events if "start" in file.columns(table)]
        wanted = "count(*), min(start), max(start)"
        found = [next(file.asked(wanted, table, f"WHERE {_ONE}")) for table in known]
        count = sum(number for number, *_ in found)
        if count <= sections.MOST:
            return None
        ends = [end for _, *ends in found for end in ends if end is not None]

        def counted(start: int, end: int, width: int) -> dict[int, int]:
            every = Counter[int]()
            for table in known:
                every.update(_spread(file, table, start, end, width))
            return every

        return sections.middle(count, min(ends), max(ends), counted)


def _spread(file: SqliteFile, table: str, start: int, end: int, width: int) -> dict[int, int]:
    """Return how many events begin in each part of a stretch; a part without any is left out."""
    return dict(
        file.asked(
            "CAST((start - ?) / ? AS INTEGER) AS part, count(*)",
            table,
            f"WHERE {_ONE} AND start >= ? AND start <= ? GROUP BY part",
            *(start, width, start, end - 1),  # as 2^63 is no integer of SQLite
        )
    )


def conditions(part: Part, events: tuple[str, ...], ranges: tuple[str, ...]) -> dict[str, str]:
    """Return by table the conditions that rows of a part meet; it holds all names of domains."""
    begins = f"start >= {part.start_ns} AND start < {part.end_ns}"
    whole = f'{begins} AND "end" <= {part.end_ns} OR eventType = {DOMAIN_TYPE}'
    return dict.fromkeys(events, begins) | dict.fromkeys(ranges, whole)
