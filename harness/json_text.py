"""The text of the harness's own JSON files: sealed as it is written, checked as it is read.

The last key of a sealed file is ``sha256``: the hash of every byte before the comma that precedes
the key. A bit that flips anywhere in the file breaks the hash, the seal's form, or the syntax.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_KEY = "sha256"
_SEAL = re.compile(rb',\n  "(.{6})": "(.{64})"\n\}\n\Z', re.DOTALL)
"""A seal, also where a letter of its key or of its hash has changed."""
_SEAL_BYTES = 83

_MOST_LEVELS = 64
_MOST_LETTERS = 60
_INTEGERS = range(-(1 << 63), 1 << 63)
"""What a table's column holds."""


def sealed(value: Mapping[str, object]) -> str:
    """Return ``value`` as indented JSON with a seal; ValueError for a NaN or an infinity."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    content = text.removesuffix("\n}")
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f'{content},\n  "{_KEY}": "{digest}"\n}}\n'


def has_seal(data: bytes) -> bool:
    """Return whether a JSON file has a seal, intact or broken."""
    return _seal(data) is not None


def parsed(data: bytes) -> dict[str, Any]:
    """Return the JSON object in ``data`` without its seal, if it has one.

    ValueError says what is wrong: the seal, the syntax, or a value that nothing can use, such as
    NaN, an integer of more than 64 bits, or 65 levels.
    """
    seal = _seal(data)
    content = data[: seal.start()] if seal else data
    if seal and seal.groups() != (_KEY.encode(), hashlib.sha256(content).hexdigest().encode()):
        raise ValueError("changed since it was written: its sha256 is another")
    try:
        value = json.loads(data.decode())
    except RecursionError:
        raise ValueError("not readable as JSON: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not readable as JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("expected a JSON object")
    if seal:
        value.pop(_KEY)
    for mistake in mistakes(value):
        raise ValueError(mistake)
    return value


def mistakes(value: object, *place: str | int, of: str = "") -> Iterator[str]:
    """Yield each value that a record cannot hold, with its place and what names it there.

    ``of`` is the name of the nearest object, such as a sample's metric and region.
    """
    if len(place) > _MOST_LEVELS:
        yield f"{_named(place, of)} is nested too deeply"
    elif isinstance(value, dict):
        name = " of ".join(
            str(value[key]) for key in ("name", "metric", "region") if value.get(key)
        )
        for key, item in value.items():
            yield from mistakes(key, *place, of=of) if not key.isascii() else ()
            yield from mistakes(item, *place, key, of=name or of)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from mistakes(item, *place, index, of=of)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{_named(place, of)} is {value}, not a finite number"
    elif isinstance(value, int) and value not in _INTEGERS:
        yield f"{_named(place, of)} is an integer of more than 64 bits"
    elif isinstance(value, str) and not value.isascii() and _is_broken(value):
        yield f"{_named(place, of)} is no Unicode text"


def _seal(data: bytes) -> re.Match[bytes] | None:
    return _SEAL.search(data, max(0, len(data) - _SEAL_BYTES))


def _named(place: tuple[str | int, ...], of: str) -> str:
    path = ".".join(ascii(part).strip("'")[:_MOST_LETTERS] for part in place)
    return f"{path} ({ascii(of[:_MOST_LETTERS])[1:-1]})" if of else path


def _is_broken(text: str) -> bool:
    """Return whether half of a surrogate pair stands in a text."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)
