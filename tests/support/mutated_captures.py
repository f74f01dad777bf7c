"""Mutants of small captures: seeds, mutators, and a batch of them read as a command reads them."""

import gzip
import json
import pickle
import random
import re
import sqlite3
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

from harness.captures import reading, sniff
from harness.captures.formats.compressed import blocks
from harness.errors import HarnessError
from harness.evidence import tables as evidence
from tests.support.paths import DATA

_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?|"[^"\\]*"|[\[\]{},:]|true|null')
_ODD = (
    *(b"0", b"-1", b"1e308", b"-1e999", b"0.1234567890123456789", b"9007199254740993"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"1" * 400),
    *(b"null", b"true", b'""', b'"x"', b'"\\ud800"', b'"\xff"', b"[]", b"{}", b"[[[]]]", b"NaN"),
    *(b'{"args":3}', b'"kernel"', b'"cpu_op"', b",", b"]", b"}"),
)
_BYTES = (0, 1, 0x7F, 0x80, 0xFF)


def mutant(seed: bytes, draw: random.Random, *, text: bool) -> bytes:
    """Return ``seed`` with one to four faults; in a ``text``, tokens are replaced as well."""
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 2, 4))):
        fault = draw.choice(_FAULTS + (_token,) * 4 * text)
        fault(data, draw)
    return bytes(data)


def _flip(data: bytearray, draw: random.Random) -> None:
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _byte(data: bytearray, draw: random.Random) -> None:
    if data:
        data[draw.randrange(len(data))] = draw.choice(_BYTES)


def _number(data: bytearray, draw: random.Random) -> None:
    size = draw.choice((2, 4, 8))
    at = draw.randrange(max(1, len(data) - size))
    most = (1 << (8 * size)) - 1
    value = draw.choice((0, 1, most // 2, most, draw.randrange(99)))
    data[at : at + size] = value.to_bytes(size, draw.choice(("big", "little")))


def _cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data) + 1) :]


def _remove(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data) + 1)
    del data[at : at + draw.choice((1, 2, 16, 400))]


def _repeat(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data) + 1)
    data[at:at] = data[at : at + draw.choice((1, 8, 100, 1000))] * draw.choice((1, 1, 3))


def _move(data: bytearray, draw: random.Random) -> None:
    at, to = draw.randrange(len(data) + 1), draw.randrange(len(data) + 1)
    part = data[at : at + draw.choice((4, 64, 4096))]
    data[to : to + len(part)] = part


def _token(data: bytearray, draw: random.Random) -> None:
    tokens = list(_TOKEN.finditer(data))
    if tokens:
        token = draw.choice(tokens)
        other = draw.choice((draw.choice(_ODD), draw.choice(tokens).group()))
        data[token.start() : token.end()] = other


_FAULTS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(_flip, _flip, _byte, _number, _number, _cut, _remove, _repeat, _move),
)


def _trace() -> bytes:
    """Return a trace of few events, all that is read among them."""
    trace = json.loads(gzip.decompress((DATA / "torch/memset_overlap.json.gz").read_bytes()))
    kept: dict[str, list[Any]] = {}
    for event in trace["traceEvents"]:
        kept.setdefault(event.get("cat", ""), []).append(event)
    trace["traceEvents"] = [event for events in kept.values() for event in events[:6]]
    return json.dumps(trace).encode()


def _export() -> bytes:
    """Return an export of few rows, in small pages."""
    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as plain:
        file = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(plain)) as source:
            source.backup(file)
    with closing(file):
        tables = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table.startswith("ENUM_"):
                file.execute(f"DROP TABLE {table}")
            elif table != "StringIds":
                file.execute(f"DELETE FROM {table} WHERE rowid > 12")
        file.execute("DELETE FROM StringIds WHERE length(value) > 2000")
        file.commit()
        file.execute("PRAGMA page_size = 1024")
        file.execute("VACUUM")
        return file.serialize()


def _snapshot() -> dict[str, Any]:
    """Return torch's own snapshot with a short history."""
    snapshot = pickle.loads(b"".join(blocks(DATA / "memory/graph.pickle.zst", 1 << 20)))  # noqa: S301 - of these tests
    kept: dict[str, Any] = {
        "segments": snapshot["segments"][:4],
        "device_traces": [trace[-24:] for trace in snapshot["device_traces"]],
    }
    return kept


def _report() -> bytes:
    return b"".join(blocks(DATA / "differences/longer.ncu-rep.zst", 1 << 20))


SEEDS: dict[str, tuple[Callable[[], bytes], bool]] = {
    "torch": (_trace, True),
    "torch in gzip": (lambda: gzip.compress(_trace(), mtime=0), False),
    "torch in zstd": (lambda: zstandard.compress(_trace()), False),
    "nsys": (_export, False),
    "nsys in zstd": (lambda: zstandard.compress(_export()), False),
    "ncu": (_report, False),
    "memory as JSON": (lambda: json.dumps(_snapshot()).encode(), True),
    "memory in gzip": (lambda: gzip.compress(json.dumps(_snapshot()).encode(), mtime=0), False),
    "memory as a pickle": (lambda: pickle.dumps(_snapshot(), 4), False),
    "memory as an old pickle": (lambda: pickle.dumps(_snapshot(), 2), False),
}
"""The readers, as the forms that a capture may have: what makes a seed, and whether it is text."""


def batch(folder: str, form: str, first: int, count: int) -> dict[str, Any]:
    """Read mutants ``first`` and following as a command does; return what became of them.

    Every eighth that is read is also summarised. ``faults`` holds what is no user's error.
    """
    from harness.analysis import summary

    make, text = SEEDS[form]
    seed, path = make(), Path(folder) / "mutant"
    found: dict[str, Any] = {"read": 0, "refused": 0, "slowest_s": 0.0, "faults": []}
    for number in range(first, first + count):
        path.write_bytes(mutant(seed, random.Random(f"{form} {number}"), text=text))
        begun = time.monotonic()
        try:
            _read(path, Path(folder), summary.document if number % 8 == 0 else None)
            found["read"] += 1
        except HarnessError as error:
            found["refused"] += 1
            if "\n" in str(error) or not error.where:
                found["faults"].append(f"{form} {number}: {error}")
        except MemoryError:
            raise
        except BaseException:
            found["faults"].append(f"{form} {number}: {traceback.format_exc()}")
        found["slowest_s"] = max(found["slowest_s"], time.monotonic() - begun)
    return found


def _read(path: Path, folder: Path, summarise: Callable[..., object] | None) -> None:
    """Do what ``harness inspect`` does with a file, in this process."""
    kind, form = sniff.recognised(path)
    if form.export:
        raise HarnessError("needs nsys", where=path)
    with sniff.opened(path, form=form) as plain:
        assert kind.read
        conditions = kind.conditions.reference if kind.conditions else ""
        found: Any = reading.leave(str(folder), str(plain), kind.read.reference, conditions)
    if summarise:
        known = reading.left(folder, found["tables"])
        tables = {name: known.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
        summarise(kind.name, tables, str(path), found["conditions"])
