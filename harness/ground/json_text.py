"""The text of the harness's own JSON files: sealed as it is written, checked as it is read.

The last key of a sealed file is ``sha256``: the hash of every byte before the comma that precedes
the key. A bit that flips anywhere in the file breaks the hash, the seal's form, or the syntax.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

_KEY = "sha256"
_SEAL = re.compile(rb',\n  "(.{6})": "(.{64})"\n\}\n\Z', re.DOTALL)
"""A seal, also where a letter of its key or of its hash has changed."""
_SEAL_BYTES = 83

_STRICT: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False}

_MOST_LEVELS = 64
_MOST_LETTERS = 60
LEAST, MOST = 1e-60, 1e60
"""Least and greatest magnitude of a number: sums, variances and ratios of them are finite."""
_INTEGERS = range(-(1 << 63), 1 << 63)
"""The whole numbers that a table's column can hold."""


def sealed(value: Mapping[str, object], *, dense: bool = False) -> str:
    """Return ``value``, of at least one key, as JSON with a seal: indented, or ``dense``.

    Raises ValueError for a NaN or an infinity.
    """
    text = _dense(value) if dense else json.dumps(value, indent=2, **_STRICT)
    content = text.removesuffix("\n}")
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f'{content},\n  "{_KEY}": "{digest}"\n}}\n'


def _dense(value: Mapping[str, object]) -> str:
    """Return ``value`` with a line for each key, and for each item of a list below it."""
    lines = []
    for key, item in value.items():
        items = item if item and isinstance(item, list | tuple) else ()
        texts = [json.dumps(each, separators=(",", ":"), **_STRICT) for each in items or (item,)]
        whole = ",\n".join(texts)
        lines.append(f"{json.dumps(key)}: " + (f"[\n{whole}\n]" if items else whole))
    return "{\n" + ",\n".join(lines) + "\n}"


def has_seal(data: bytes) -> bool:
    """Return whether a JSON file has a seal, intact or broken."""
    return _seal(data) is not None


def parsed(data: bytes) -> dict[str, Any]:
    """Return the JSON object in ``data`` without its seal, if it has one.

    ValueError names the mistake: the seal, the syntax, or a value that nothing can use, such as
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


def mistakes(value: Mapping[str, object]) -> Iterator[str]:
    """Yield each value that a record cannot hold, with its place and what names it there."""
    return _mistakes(value, (), "")


def _mistakes(holder: Any, place: Place, of: str) -> Iterator[str]:
    """Yield the mistakes in an object or array at ``place``.

    ``of`` is the name of the nearest object that has one, such as a sample's metric and region.
    """
    items: Iterable[tuple[Any, object]] = enumerate(holder)
    if isinstance(holder, dict):
        names = (holder.get(key) for key in ("name", "metric", "region"))
        of = " of ".join(name for name in names if name and isinstance(name, str)) or of
        items = holder.items()
    for key, value in items:
        if isinstance(value, dict | list | tuple):
            if len(place) == _MOST_LEVELS:
                yield f"{_named((*place, key), of)} is nested too deeply"
            elif value:
                yield from _mistakes(value, (*place, key), of)
        elif what := _mistake(value):
            yield f"{_named((*place, key), of)} is {what}"
        if isinstance(key, str) and _mistake(key):
            yield f"{_named((*place, key), of)} is no Unicode text"


def _mistake(value: object) -> str:
    """Return the mistake in a text or a number, empty if there is none."""
    if isinstance(value, str):
        broken = not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)
        return "no Unicode text" if broken else ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value}, not a finite number"
    if isinstance(value, float):
        fits = not value or LEAST <= abs(value) <= MOST
        return "" if fits else f"{value}, which nothing measures: not within {LEAST} and {MOST}"
    fits = not isinstance(value, int) or value in _INTEGERS
    return "" if fits else "an integer of more than 64 bits"


def _seal(data: bytes) -> re.Match[bytes] | None:
    return _SEAL.search(data, max(0, len(data) - _SEAL_BYTES))


def path(place: Sequence[str | int]) -> str:
    """Return the keys and indices that lead to a value in one word, such as samples.3.value."""
    return ".".join(ascii(part).strip("'")[:_MOST_LETTERS] for part in place)


def _named(place: Place, of: str) -> str:
    return f"{path(place)} ({ascii(of[:_MOST_LETTERS])[1:-1]})" if of else path(place)
