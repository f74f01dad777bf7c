"""Mutants of small captures: seeds, mutators, and a batch of them read as a command reads them."""

import gzip
import pickle
import random
import re
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import zstandard

from harness.captures.ncu import framing
from harness.captures.ncu import read as ncu
from harness.extract import door
from harness.ground.errors import HarnessError
from tests.support import capture_seeds as seeds
from tests.support import valued_mutants
from tests.support.commands_in_process import COMMANDS, TURNS, Captures, in_process

Mutator = Callable[[bytes, random.Random], bytes]

_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?|"[^"\\]*"|[\[\]{},:]|true|null')
_ODD = (
    *(b"0", b"-1", b"1e308", b"-1e999", b"0.1234567890123456789", b"9007199254740993"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"1" * 400),
    *(b"null", b"true", b'""', b'"x"', b'"\\ud800"', b'"\xff"', b"[]", b"{}", b"[[[]]]", b"NaN"),
    *(b'{"args":3}', b'"kernel"', b'"cpu_op"', b",", b"]", b"}"),
)
_BYTES = (0, 1, 0x7F, 0x80, 0xFF)


def of_bytes(seed: bytes, draw: random.Random) -> bytes:
    """Return ``seed`` with one to four faults."""
    return _damaged(seed, draw, _FAULTS)


def of_text(seed: bytes, draw: random.Random) -> bytes:
    """Return ``seed``, a text, with one to four faults, replaced tokens among them."""
    return _damaged(seed, draw, (*_FAULTS, *[_token] * 4))


def _damaged(
    seed: bytes,
    draw: random.Random,
    faults: Sequence[Callable[[bytearray, random.Random], None]],
) -> bytes:
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 2, 4))):
        draw.choice(faults)(data, draw)
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


LAUNCHES = "ncu, values"
"""The form that is not a file, but what NVIDIA's reader says of one."""
_ROWS = ".rows"

_EXPORTS = ("streams", "graph_node", "graph_level", "processes", "probe_marks")

FORMS: dict[str, tuple[tuple[Callable[[], bytes], ...], Mutator]] = {
    "torch": ((seeds.trace,), of_text),
    "torch in gzip": ((lambda: gzip.compress(seeds.trace(), mtime=0),), of_bytes),
    "torch in zstd": ((lambda: zstandard.compress(seeds.trace()),), of_bytes),
    "torch, values": (
        (seeds.trace, seeds.training_steps, seeds.planted_steps),
        valued_mutants.of_json,
    ),
    "nsys": ((seeds.export,), of_bytes),
    "nsys in zstd": ((lambda: zstandard.compress(seeds.export()),), of_bytes),
    "nsys, values": (
        tuple(partial(seeds.unconstrained_export, name) for name in _EXPORTS),
        valued_mutants.of_export,
    ),
    "ncu": ((seeds.report,), of_bytes),
    LAUNCHES: ((seeds.launches, partial(seeds.launches, "ncu/source")), valued_mutants.of_launches),
    "memory as JSON": ((seeds.snapshot_in_json,), of_text),
    "memory in gzip": ((lambda: gzip.compress(seeds.snapshot_in_json(), mtime=0),), of_bytes),
    "memory as JSON, values": ((seeds.snapshot_in_json, seeds.phases), valued_mutants.of_json),
    "memory as a pickle": ((lambda: pickle.dumps(seeds.snapshot(), 4),), of_bytes),
    "memory as an old pickle": ((lambda: pickle.dumps(seeds.snapshot(), 2),), of_bytes),
    "memory as a pickle, values": (
        (lambda: pickle.dumps(seeds.snapshot(), 4),),
        valued_mutants.of_pickle,
    ),
}
"""The readers, as the forms that a capture may have: what makes each seed, and mutants of them."""

_ALL = 37
"""Every so many mutants go through all commands."""
_PYTHON = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|Traceback|please report|has no attribute")
"""What a line to a user never says: these are our faults."""


@dataclass
class _Found:
    """What became of mutants; ``faults`` holds what is no user's error."""

    form: str
    read: int = 0
    refused: int = 0
    commands: int = 0
    declined: int = 0
    slowest_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    def tried(self, number: int, path: Path, work: Callable[[], object]) -> bool:
        """Return whether ``work`` came to an end; what it says otherwise has to be one line."""
        begun = time.monotonic()
        try:
            work()
        except HarnessError as error:
            if (
                "\n" in str(error)
                or str(path.parent) not in error.where
                or _PYTHON.search(str(error))
            ):
                self.faults.append(f"{self.form} {number}: {error}")
            return False
        except MemoryError:
            raise
        except BaseException:
            self.faults.append(f"{self.form} {number}: {traceback.format_exc()}")
            return False
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        return True


def batch(folder: str, form: str, first: int, count: int) -> dict[str, Any]:
    """Read mutants ``first`` and following, and do with each what a command does.

    That is one of the commands, in turn, and all of them with every 37th. Returns how many were
    ``read`` and ``refused``, how many ``commands`` came to an end or ``declined`` in one line, and
    the ``faults``: what is no user's error.
    """
    makes, mutator = FORMS[form]
    whole, path = [make() for make in makes], Path(folder) / "mutant"
    others = [path.with_name(f"seed{number}") for number in range(len(whole))]
    for seed, other in zip(whole, others, strict=True):
        _write(other, seed, form)
    beside = path.with_name("beside")
    _write(beside, *_another_kind(form))
    found = _Found(form)
    with in_process() as known, mock.patch.multiple(ncu, rows_of=_rows_of, kernel_count=_count):
        for number in range(first, first + count):
            turn, place = divmod(number, len(whole))
            known.pop(str(path), None)
            _write(path, mutator(whole[place], random.Random(f"{form} {number}")), form)
            if not found.tried(number, path, partial(door.opened, str(path))):
                found.refused += 1
                continue
            found.read += 1
            captures = Captures(path, others[place], beside)
            for command in COMMANDS if number % _ALL == 0 else TURNS[turn % len(TURNS) :][:1]:
                if found.tried(number, path, partial(command, captures)):
                    found.commands += 1
                else:
                    found.declined += 1
    return asdict(found)


def _another_kind(form: str) -> tuple[bytes, str]:
    """Return a capture that a program of ``form`` may have beside, and its form."""
    if form.startswith("ncu"):
        return seeds.planted_steps("longer"), "torch"
    return seeds.launches(), LAUNCHES


def _write(path: Path, data: bytes, form: str) -> None:
    """Write a capture; of a report the rows beside it, which are then taken for what it holds."""
    if form == LAUNCHES:
        path.with_suffix(_ROWS).write_bytes(data)
        data = seeds.report()
    path.write_bytes(data)


def _count(path: Path, read: Callable[[Path], int] = framing.kernel_count) -> int:
    rows = path.with_suffix(_ROWS)
    return len(rows.read_bytes().splitlines()) if rows.exists() else read(path)


def _rows_of(path: Path, folder: Path, read: Any = ncu.rows_of) -> Path:
    rows = path.with_suffix(_ROWS)
    return rows if rows.exists() else read(path, folder)
