"""Stacks written once each: events and blocks name theirs by its place in one list."""

from collections.abc import Iterable
from typing import Any

_MOST_FRAMES = 12


class Stacks:
    """The different stacks of a snapshot, in ``all``: lists of Python frames, innermost first."""

    def __init__(self) -> None:
        self.all: list[list[dict[str, Any]]] = []
        self._places: dict[tuple[tuple[str, int, str], ...], int] = {}

    def shared(self, record: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
        """Return ``keys`` of an event or a block, with ``stack`` in place of its ``frames``.

        Keys that it lacks are left out, and ``stack`` where no Python frame was recorded.
        """
        shared = {key: record[key] for key in keys if key in record and key != "frames"}
        stack = tuple(
            (frame["filename"], frame["line"], frame["name"])
            for frame in record.get("frames", [])
            if frame.get("filename", "").endswith(".py")
        )[:_MOST_FRAMES]
        if not stack:
            return shared
        if stack not in self._places:
            self._places[stack] = len(self.all)
            self.all.append(
                [{"filename": file, "line": line, "name": name} for file, line, name in stack]
            )
        return shared | {"stack": self._places[stack]}
