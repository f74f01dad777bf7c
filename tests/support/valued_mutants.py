"""Mutants whose syntax is whole and whose values nobody measured: of JSON, pickles, SQL and rows.

Damaged bytes mostly end in a refusal; these are read, and reach what is behind the readers.
"""

import json
import pickle
import random
import sqlite3
from contextlib import closing
from typing import Any

from tests.support import damage

_NUMBERS: tuple[Any, ...] = (
    *(0, 0, -1, 1, 2, 0.5, 7, 1e-320, 1e15, 9e15, 9.3e15, 1e18, 1e308, -1e308),
    *(2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30),
)
_COUNTS = (0, 0, -1, 1, 0.5, 31, 1e-60, 1e60, -1e60, 1e18, -1e18, 2**53 + 1, 1e308, 1e-320)
_TEXTS: tuple[str, ...] = (
    *(value for value in damage.HOSTILE if isinstance(value, str)),
    *("ProfilerStep#1", "step:a", "phase:a", "whole", "Optimizer.step#A.step", "## backward ##"),
    *(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "cudaGraphLaunch",
        "cudaMalloc",
        "cudaLaunchKernel",
    ),
    *(
        "cudaStreamSynchronize",
        "cudaMemcpy",
        "Memcpy DtoH (Device -> Pageable)",
        "kernel",
        "cpu_op",
    ),
    *("gpu_memcpy", "alloc", "free_completed", "segment_alloc", "oom", "NVIDIA H200", "default"),
    *("9" * 5000, "1,1,1", "nan", "inf", "-1"),
)
_SASS = (
    *("", " ", "@P0", "@!P0 LDG", f"FFMA R{'9' * 5000}, R1, R2, R3", f"LDG.128 R{'9' * 4}, [R2]"),
    *(f"HGMMA.{'9' * 5000}", f"HGMMA.{'9' * 400}x8x8.F32", "HMMA.0x0x0", "HMMA.16816", "a" * 5000),
    *("FFMA ,", "FFMA", "FFMA R1,,", ",", "STL", "LDG R1"),
)
_NOTHING: tuple[Any, ...] = (None, [], {}, True, "", 0, float("nan"), float("inf"))

_NAMES = ("value", "name", "text", "label")
"""Columns of an export that hold texts."""
_UNREAD = (
    "sqlite_",
    "ENUM_",
    "ANALYSIS_FILE",
    "ProcessStreams",
    "DIAGNOSTIC",
    "TARGET_INFO_CUDA_S",
)


def of_json(seed: bytes, draw: random.Random) -> bytes:
    """Return a JSON file with other values in it."""
    value = json.loads(seed)
    if not draw.randrange(4):
        return json.dumps(damage.of_json(value, draw)).encode()
    return json.dumps(_changed(value, draw)).encode()


def of_pickle(seed: bytes, draw: random.Random) -> bytes:
    """Return a pickle with other values in it."""
    value = pickle.loads(seed)  # noqa: S301 - of these tests
    value = damage.of_json(value, draw) if not draw.randrange(4) else _changed(value, draw)
    return pickle.dumps(value, draw.choice((2, 4, 5)))


def _changed(value: Any, draw: random.Random) -> Any:
    """Change one to three fields, each in one, in half or in all of the objects that have it."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        places = [
            (holder, key)
            for holder, key in damage.places(value)
            if isinstance(holder, dict) and not isinstance(holder[key], dict | list)
        ]
        if places:
            _change(*_alike(places, draw), draw)
    return value


def _alike(
    places: list[tuple[dict[str, Any], str]], draw: random.Random
) -> tuple[list[dict[str, Any]], str]:
    """Return a field, mostly one that many objects have, and some of the objects that have it."""
    picked, key = draw.choice(places)
    every = [holder for holder, known in places if known == key]
    kind = picked.get("cat", picked.get("action"))
    same = [holder for holder in every if holder.get("cat", holder.get("action")) == kind]
    some = draw.sample(every, 1 + len(every) // 2)
    return draw.choice(([picked], every, same, some)), key


def _change(holders: list[dict[str, Any]], key: str, draw: random.Random) -> None:
    known = [holder[key] for holder in holders if key in holder]
    how, one = draw.randrange(8), _other(draw.choice(known), draw) if known else None
    draw.shuffle(known)
    for place, holder in enumerate(holders):
        old = holder.get(key)
        if how == 0:
            holder.pop(key, None)
        elif how == 1:
            holder[key] = draw.choice(_NOTHING)
        elif how == 2 and known:
            holder[key] = known[place % len(known)]
        elif how == 3:
            holder[key] = _other(old, draw)
        elif how == 4 and isinstance(old, int | float):
            holder[key] = old * draw.choice((-1, 0, 2, 1000, 10**9)) + draw.choice((0, 1, -1))
        else:
            holder[key] = one


def _other(value: Any, draw: random.Random) -> Any:
    """Return another value, mostly of the same type."""
    if isinstance(value, int | float):
        return draw.choice(_NUMBERS)
    return draw.choice(_TEXTS) if isinstance(value, str) else draw.choice((*_NUMBERS, *_TEXTS))


def of_export(seed: bytes, draw: random.Random) -> bytes:
    """Return an export of Nsight Systems with other values in it, or other rows."""
    with closing(sqlite3.connect(":memory:")) as file:
        file.deserialize(seed)
        rows = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = sorted(name for (name,) in rows if not name.startswith(_UNREAD))
        for _ in range(draw.choice((1, 1, 2, 4))):
            statement, values = _statement(file, draw.choice(tables), draw)
            try:
                file.execute(statement, values)
            except (sqlite3.IntegrityError, sqlite3.OperationalError):  # twice one id, or no room
                continue
        file.commit()
        return file.serialize()


def _statement(file: sqlite3.Connection, table: str, draw: random.Random) -> tuple[str, list[Any]]:
    columns = [name for _, name, *_ in file.execute(f"PRAGMA table_info({table})")]
    column, other = draw.choice(columns), draw.choice(columns)
    where = draw.choice(("", "", f"WHERE rowid % 2 = {draw.randrange(2)}", "WHERE rowid = ?"))
    row = [draw.randrange(1, 13)] if "?" in where else []
    match draw.randrange(8):
        case 0:
            return f"DELETE FROM {table} {where}", row
        case 1:
            listed = ", ".join(f'"{name}"' for name in columns if name != "id")
            return f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {table} {where}", row
        case 2:
            return f'UPDATE {table} SET "{column}" = "{other}" {where}', row
        case 3:
            more = draw.choice((1, -1, 10**9, 2**40, 2**62))
            return f'UPDATE {table} SET "{column}" = "{column}" + {more} {where}', row
        case _:
            return f'UPDATE {table} SET "{column}" = ? {where}', [_cell(column, draw), *row]


def _cell(column: str, draw: random.Random) -> Any:
    if not draw.randrange(8):
        return draw.choice((None, b"\xff\xfe", "x", 1.5))
    if column in _NAMES:
        return draw.choice(_TEXTS).encode("utf-8", "replace").decode()
    return draw.choice([number for number in _NUMBERS if -(2**63) <= number < 2**63])


def of_launches(seed: bytes, draw: random.Random) -> bytes:
    """Return what is read of a report of Nsight Compute, a line a launch, with other values."""
    launches = [json.loads(line) for line in seed.splitlines()]
    names = sorted({name for launch in launches for name, _, _ in launch["metrics"]})
    for _ in range(draw.choice((1, 3, 30, len(names)))):
        some = draw.choice((launches, launches[:1]))
        _count(some, draw.choice(names), draw)
    counted = [row for launch in launches for row in launch["instructions"]]
    for row in draw.sample(counted, draw.choice((0, 1, len(counted))) if counted else 0):
        if draw.randrange(2):
            row[0] = draw.choice(_SASS)
        row[draw.choice((3, 4, 6))] = draw.choice((0, 1, 1, 2**31, 2**61, 2**63 - 1, 2**63))
    for launch in launches if not draw.randrange(4) else ():
        key = draw.choice(("name", "grid", "block"))
        launch[key] = draw.choice((launch[key], *_TEXTS)).encode("utf-8", "replace").decode()
    return b"".join(json.dumps(launch).encode() + b"\n" for launch in launches)


def _count(launches: list[dict[str, Any]], metric: str, draw: random.Random) -> None:
    """Let launches have another value of a metric, or none."""
    value = float(draw.choice(_COUNTS if not draw.randrange(99) else _COUNTS[:-2]))
    for launch in launches:
        if not draw.randrange(8):
            launch["metrics"] = [each for each in launch["metrics"] if each[0] != metric]
        for each in launch["metrics"]:
            if each[0] == metric:
                each[2] = value
