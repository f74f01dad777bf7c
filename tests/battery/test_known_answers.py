"""Generated captures whose answer is known: readers return it exactly, however it is written."""

import gzip
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from harness.evidence.tables import Tables
from harness.extract import door
from tests.support.battery import SEED, Figures, rounds

CAPTURES = 50  # a kind and transformation


class Made:
    """GPU operations of a made-up run, in ns: what any capture of it has to give."""

    def __init__(self, draw: random.Random) -> None:
        self.names = [f"kernel_{number}<{number}>" for number in range(draw.randrange(1, 6))]
        self.shift, self.scale = 0, 1
        self.ops: list[dict[str, Any]] = []
        at = draw.randrange(10**6)
        for number in range(draw.randrange(1, 60)):
            at += draw.randrange(5_000)
            duration = draw.randrange(1, 9_000)
            self.ops.append(
                {
                    "name": draw.choice(self.names),
                    "start_ns": at,
                    "duration_ns": duration,
                    "device": draw.randrange(2),
                    "stream": draw.choice((7, 13)),
                    "grid": f"{draw.randrange(1, 9)},{draw.randrange(1, 9)},1",
                    "block": f"{32 * draw.randrange(1, 9)},1,1",
                    "correlation": number + 1,
                }
            )

    def moved(self, shift: int, scale: int) -> None:
        """Let the run begin later, and take a multiple of its time."""
        for op in self.ops:
            op["start_ns"] = op["start_ns"] * scale + shift
            op["duration_ns"] *= scale

    def answer(self) -> list[tuple[Any, ...]]:
        """Return the operations in order of their correlation."""
        return [tuple(op.values()) for op in sorted(self.ops, key=lambda op: op["correlation"])]


def trace(made: Made, draw: random.Random, path: Path, *, odd: bool) -> None:
    """Write a trace of torch.profiler; ``odd``: with categories, keys and arguments unknown."""
    events = []
    for op in made.ops:
        arguments = {
            "device": op["device"],
            "stream": op["stream"],
            "correlation": op["correlation"],
            "grid": [int(size) for size in op["grid"].split(",")],
            "block": [int(size) for size in op["block"].split(",")],
        }
        times = {"ts": op["start_ns"] / 1000, "dur": op["duration_ns"] / 1000}
        events.append({"ph": "X", "cat": "kernel", "name": op["name"], **times, "args": arguments})
    if odd:
        for event in events:
            event["args"] |= {"unknown": [{"a": "]}"}], "warps per SM": 0.5}
            event |= {"id": "x", "flow": None}
        events += [{"ph": "f", "cat": "news", "name": 3, "ts": "never"}] * draw.randrange(1, 9)
    draw.shuffle(events)
    document: dict[str, Any] = {"schemaVersion": 1, "traceEvents": events, "other": {"x": [1]}}
    keys = list(document)
    draw.shuffle(keys)
    text = json.dumps({key: document[key] for key in keys}, indent=draw.choice((None, 1))).encode()
    path.write_bytes(draw.choice((bytes, gzip.compress, zstandard.compress, _in_members))(text))


def _in_members(text: bytes) -> bytes:
    third = len(text) // 3
    parts = (text[:third], text[third : 2 * third], text[2 * third :])
    return b"".join(gzip.compress(part) for part in parts)


def export(made: Made, draw: random.Random, path: Path, *, odd: bool) -> None:
    """Write an export of nsys; ``odd``: with tables and columns unknown."""
    columns = {
        "start": "start_ns",
        "end": None,
        "deviceId": "device",
        "streamId": "stream",
        "correlationId": "correlation",
        "demangledName": None,
        **{f"{kind}{axis}": None for kind in ("grid", "block") for axis in "XYZ"},
    }
    unknown = ["cacheConfig", "localMemoryTotal"] if odd else []
    order = [*columns, *unknown]
    draw.shuffle(order)
    ids = {name: 17 + 3 * number for number, name in enumerate(made.names)}
    rows = []
    for op in made.ops:
        row: dict[str, Any] = {key: op[value] for key, value in columns.items() if value}
        row |= {"end": op["start_ns"] + op["duration_ns"], "demangledName": ids[op["name"]]}
        for kind in ("grid", "block"):
            sizes = zip("XYZ", op[kind].split(","), strict=True)
            row |= {f"{kind}{axis}": int(size) for axis, size in sizes}
        rows.append([row.get(key, "anything") for key in order])
    draw.shuffle(rows)
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA page_size = {draw.choice((512, 4096, 65536))}")
        file.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT)")
        file.executemany("INSERT INTO StringIds VALUES (?, ?)", [(n, t) for t, n in ids.items()])
        kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
        file.execute(f"CREATE TABLE {kernels} ({', '.join(f'{key} INTEGER' for key in order)})")
        marks = ", ".join("?" * len(order))
        file.executemany(f"INSERT INTO {kernels} VALUES ({marks})", rows)
        if odd:
            file.execute("CREATE TABLE NEWS (start INTEGER, text TEXT)")
            file.execute("INSERT INTO NEWS VALUES (1, 'x')")
        file.commit()


FORMATS = {"torch": trace, "nsys": export}
WAYS = ("shuffled", "odd", "shifted", "scaled")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMATS)
def test_the_answer_is_exact(form: str, way: str, tmp_path: Path, figures: Figures) -> None:
    count = rounds(CAPTURES)
    for number in range(SEED * count, (SEED + 1) * count):
        draw = random.Random(f"{form} {way} {number}")
        made = Made(draw)
        if way == "shifted":
            made.moved(draw.randrange(2**40), 1)
        if way == "scaled":
            made.moved(0, draw.randrange(2, 1000))
        path = tmp_path / f"{number}"
        FORMATS[form](made, draw, path, odd=way == "odd")
        opened: Any = door.opened(str(path))
        assert gpu_ops(opened.captures[form].tables) == made.answer(), f"{form} {way} {number}"
    figures(captures=count, exact=count)


def gpu_ops(tables: Tables) -> list[tuple[Any, ...]]:
    """Return the operations of a capture in order of their correlation."""
    columns = "name", "start_ns", "duration_ns", "device", "stream", "grid", "block", "correlation"
    rows = tables["gpu_ops"].select(pl.col(columns)).sort("correlation")
    return rows.rows()
