"""Pickles whose lists hold one record many times, so that few bytes stand for many records."""

from collections.abc import Iterable, Iterator
from typing import Any

_LEAST_BYTES = 8
"""Of a record of its own: two keys and two values that are references take as many."""
_FEWEST = 200_000  # which take little memory


def check(source: Any, size: int) -> None:
    """Raise ValueError if a snapshot, unpickled from ``size`` bytes, has more records than room.

    Records are segments, their blocks, events, and the segments of marks. What is of another shape
    counts nothing.
    """
    most, records = max(_FEWEST, size // _LEAST_BYTES), 0
    for members in _lists(source):
        records += len(members)
        if records > most:
            raise ValueError(f"over {most:,} records in {size:,} bytes: it repeats some of them")


def _lists(source: Any) -> Iterator[list[Any]]:
    """Yield the lists of records; each that has others below it before those."""
    for key, below in (("segments", "blocks"), ("marks", "segments")):
        members = _list(source, key)
        yield members
        yield from (_list(member, below) for member in members)
    traces = _list(source, "device_traces")
    yield traces
    yield from _only_lists(traces)


def _list(mapping: Any, key: str) -> list[Any]:
    members = mapping.get(key) if isinstance(mapping, dict) else None
    return members if isinstance(members, list) else []


def _only_lists(members: Iterable[Any]) -> Iterator[list[Any]]:
    return (member for member in members if isinstance(member, list))
