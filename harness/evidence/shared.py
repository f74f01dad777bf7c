"""What the cells of a provenance have in common: each value stands once, cells name its index.

A run in containers has commands of 2 kB a cell that differ in three arguments.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_FIELDS = ("params", "settings", "packages", "artifacts")
"""The fields of a cell that are shared as a whole; of ``command`` each argument is."""

_MOST_LETTERS = 64 << 20
"""Letters of all cells' values together, as JSON; the largest published report has 0.8 million."""


def share(cells: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the cells with indices in place of what they share, and the list of shared values."""
    places: dict[str, int] = {}
    values: list[Any] = []

    def place(value: object) -> int:
        text = json.dumps(value, ensure_ascii=False)
        if text not in places:
            places[text] = len(values)
            values.append(value)
        return places[text]

    shared = [
        {**cell, "command": [place(argument) for argument in cell["command"]]}
        | {field: place(cell[field]) for field in _FIELDS}
        for cell in cells
    ]
    return shared, values


def restored(cells: Iterable[Any], values: list[Any]) -> list[Any]:
    """Return the cells with the shared values in their places again.

    An index that leads nowhere stays, as do all where small cells would grow to more than memory
    bears: no cell may have one, so the record is refused by the place of the first.
    """
    sizes = [len(json.dumps(value)) for value in values]
    room = _MOST_LETTERS

    def value(index: Any) -> Any:
        nonlocal room
        if type(index) is not int or not 0 <= index < len(values) or sizes[index] > room:
            return index
        room -= sizes[index]
        return values[index]

    def cell(record: Any) -> Any:
        if not isinstance(record, Mapping):
            return record
        fields = {name: value(record[name]) for name in _FIELDS if name in record}
        if isinstance(command := record.get("command"), list):
            fields["command"] = [value(index) for index in command]
        return {**record, **fields}

    return [cell(record) for record in cells]
