"""Damage to a file: to its bytes, as disks and copies do it, and to the values of JSON."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1e308, -1e308, 10**18, 2**63, 10**30, float("nan"), float("inf")),
    *(
        "",
        "a",
        "nan",
        "\0",
        "../../etc/passwd",
        "/etc/passwd",
        "a" * 5000,
        "\u202e\ufeff",
        "\ud800",
    ),
    *("<b>", "`|`", "\x1b[2J", "9" * 400, "2026-99-99T99:99:99Z", "{{ 1 }}", "\n\n# a\n"),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["a", 1], [1.0, "a"]),
)
"""Values that nobody wrote."""


def flipped(data: bytes, bit: int) -> bytes:
    """Return ``data`` with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return ``data`` with one to eight pieces of damage of one kind."""
    damage = rng.choice(_DAMAGE)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data = damage(data, rng) if data else b"\0"
    return data


def of_json(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a JSON object with one to three of its values replaced, removed, or added to."""
    changed = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = rng.choice(list(places(changed)))
        match rng.randrange(6):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(("", "a", "\0", "name", "version"))] = rng.choice(HOSTILE)
            case 2 if isinstance(holder, list):
                holder[key:key] = [copy.deepcopy(holder[key])] * rng.choice((1, 20))
            case 3:
                holder[key] = _deep(holder[key], rng.choice((3, 60, 200)))
            case _:
                holder[key] = copy.deepcopy(rng.choice(HOSTILE))
        if not changed:
            return {"": None}
    return changed


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object or array of a JSON value with each of its keys."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def _deep(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def _flip(data: bytes, rng: random.Random) -> bytes:
    return flipped(data, rng.randrange(8 * len(data)))


def _flip_near_the_end(data: bytes, rng: random.Random) -> bytes:
    return flipped(data, 8 * len(data) - 1 - rng.randrange(min(8 * len(data), 800)))


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _drop(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 4, 64, 4096)) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"\0", b"[" * 2000, b"9" * 30, rng.randbytes(16))) + data[at:]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(data)), rng.choice((1, 4, 512))
    noise = rng.choice((bytes(length), b"\xff" * length, rng.randbytes(length)))
    return data[:at] + noise[: len(data) - at] + data[at + length :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at : at + rng.choice((1, 64, 4096))] * 2 + data[at:]


_DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _flip_near_the_end, _cut, _drop, _insert, _overwrite, _repeat),
)
