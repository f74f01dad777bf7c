"""Captures made by hand, each with one fault."""

import gzip
import json
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

from tests.support import capture_seeds

Named = Iterator[tuple[str, bytes]]


def captures(scratch: Path) -> dict[str, bytes]:
    """Return the content of each capture by its name, which tells the fault."""
    made: dict[str, bytes] = {}
    for name, content in (
        *_strange(),
        *_packed(),
        *_traces(),
        *_exports(scratch),
        *_snapshots(),
        *_pickles(),
        *_reports(),
        *_loads(),
    ):
        assert name not in made
        made[name] = content
    return made


def _strange() -> Named:
    yield "nothing", b""
    for name, content in {
        "one zero": b"\0",
        "blanks": b"  \n ",
        "words": b"step time\n",
        "CSV": b"name,time\na,1\n",
        "HTML": b"<!doctype html>",
        "ELF": b"\x7fELF\x02\x01\x01",
        "PNG": b"\x89PNG\r\n\x1a\n",
        "zip": b"PK\x03\x04",
        "xz": b"\xfd7zXZ\0",
        "bzip2": b"BZh9",
        "tar": b"trace.json\0" + bytes(250) + b"ustar\0",
        "Parquet": b"PAR1",
        "Arrow": b"ARROW1\0\0",
        "Python": b"import torch\n",
        "pickle of protocol 0": b"(dp0\n.",
        "pickle of protocol 6": b"\x80\x06}.",
        "UTF-16": '{"traceEvents": []}'.encode("utf-16"),
        "half a BOM": b'\xef\xbb{"traceEvents": []}',
        "JSON number": b"17",
        "JSON text": b'"trace"',
        "JSON null": b"null",
        "JSON list of numbers": b"[1, 2]",
        "rocprofv3": b'{"rocprofiler-sdk-tool": [{}]}',
        "SQLite's first word": b"SQLite format",
        "ncu's first bytes": b"NVR",
    }.items():
        yield f"strange: {name}", content


def _packed() -> Named:
    trace = capture_seeds.trace()
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": lambda data: gzip.compress(data, mtime=0),
        "zstd": zstandard.compress,
    }
    for name, pack in packers.items():
        whole = pack(trace)
        for cut in (3, 5, 12, len(whole) // 2, len(whole) - 9, len(whole) - 1):
            yield f"{name}: cut at {cut}", whole[:cut]
        yield f"{name}: garbage behind", whole + b"garbage"
        yield f"{name}: twice packed", pack(whole)
        yield f"{name}: of nothing", pack(b"")
        yield f"{name}: a bit flipped", whole[:40] + bytes([whole[40] ^ 4]) + whole[41:]
        yield f"{name}: second half cut", whole + whole[: len(whole) // 3]


_EVENTS: dict[str, dict[str, Any]] = {
    "kernel": {"args": {"device": 0, "stream": 7, "correlation": 1, "grid": [1, 1, 1]}},
    "gpu_memcpy": {"args": {"device": 0, "bytes": 4}},
    "cuda_runtime": {"tid": 1, "args": {"correlation": 1}},
    "cpu_op": {"tid": 1},
    "user_annotation": {"tid": 1},
}
_FIELDS: dict[str, list[Any]] = {
    "name": [None, 5, []],
    "ts": [None, -1, 1e300, "now", [0]],
    "dur": [-1, 1e300, "long", {}],
}
_ARGUMENTS: dict[str, list[Any]] = {
    "device": [1.5, [], 2**64],
    "stream": [{}, "x"],
    "grid": [[1, 1], [1, 1, "x"], 4],
    "correlation": [0.5, 2**63],
}


def _traces() -> Named:
    good = [_event(category) for category in _EVENTS]
    for category in _EVENTS:
        for field, values in _FIELDS.items():
            for value in values:
                odd = _event(category) | {field: value}
                yield f"trace: {field} {value!r} of {category}", _trace([*good, odd])
    for argument, values in _ARGUMENTS.items():
        for value in values:
            odd = _event("kernel")
            odd["args"][argument] = value
            yield f"trace: {argument} {value!r}", _trace([*good, odd])
    text = _trace(good)
    for name, content in {
        "no events": _trace([]),
        "events of nothing": b'{"traceEvents": [{}]}',
        "events are a mapping": b'{"traceEvents": {}}',
        "events are null": b'{"traceEvents": null}',
        "events twice": text[:-1] + b', "traceEvents": []}',
        "another key alone": b'{"displayTimeUnit": "ms"}',
        "an event is a number": b'{"traceEvents": [3]}',
        "a comma too many": text.replace(b"}]", b"},]"),
        "a comma too few": text.replace(b"}, {", b"} {", 1),
        "cut in an event": text[: len(text) // 2],
        "cut before its end": text[:-1],
        "text behind": text + b" x",
        "invalid UTF-8": text.replace(b'"cpu_op"', b'"cpu_\xff"', 1),
        "a control character": text.replace(b'"cpu_op"', b'"cpu\n_op"', 1),
        "NaN as a time": text.replace(b'"ts": 10', b'"ts": NaN', 1),
        "nested deeply": b'{"traceEvents": [' + b"[" * 5000,
        "single quotes": text.replace(b'"', b"'"),
    }.items():
        yield f"trace: {name}", content


def _event(category: str) -> dict[str, Any]:
    times = {"ts": 10, "dur": 5}
    more = json.loads(json.dumps(_EVENTS[category]))
    return {"ph": "X", "cat": category, "name": category[:3], **times, **more}


def _trace(events: list[dict[str, Any]]) -> bytes:
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


_KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
_COLUMNS = (
    *("start", "end", "deviceId", "streamId", "correlationId", "demangledName"),
    *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
)


def _exports(scratch: Path) -> Named:
    statements = {
        "no StringIds": "DROP TABLE StringIds",
        "StringIds is a view": "ALTER TABLE StringIds RENAME TO s; CREATE VIEW StringIds AS"
        " SELECT * FROM s",
        "kernels are a view": f"ALTER TABLE {_KERNEL} RENAME TO k; CREATE VIEW {_KERNEL} AS"
        " SELECT * FROM k",
        "a computed column": f"ALTER TABLE {_KERNEL} ADD COLUMN twice AS (start * 2)",
        "a long default": "CREATE TABLE n (id INTEGER, value TEXT); INSERT INTO n SELECT id, value"
        " FROM StringIds; DROP TABLE StringIds; CREATE TABLE StringIds (id INTEGER); INSERT INTO"
        " StringIds SELECT id FROM n; ALTER TABLE StringIds ADD COLUMN value TEXT DEFAULT 'x'",
        "no start": f"UPDATE {_KERNEL} SET start = NULL WHERE rowid = 2",
        "an end before the start": f"UPDATE {_KERNEL} SET end = start - 1 WHERE rowid = 2",
        "a call that ends early": "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 0 WHERE rowid = 2",
        "a grid of nothing known": f"UPDATE {_KERNEL} SET gridX = -1 WHERE rowid = 2",
        "a block beyond 16 bits": f"UPDATE {_KERNEL} SET blockZ = 70000 WHERE rowid = 2",
        "a range that ends early": "UPDATE NVTX_EVENTS SET end = 1 WHERE end IS NOT NULL",
        "of rocprofv3": "CREATE TABLE rocpd_event (id INTEGER)",
        "another program's": "; ".join(
            f"DROP TABLE {name}"
            for name in (_KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME", "META_DATA_EXPORT")
        ),
    }
    statements |= {
        f"no {column}": f"ALTER TABLE {_KERNEL} DROP COLUMN {column}" for column in _COLUMNS
    }
    statements |= {
        f"text for {column}": _retyped(column) for column in (*_COLUMNS[:6], "gridX", "blockZ")
    }
    whole = capture_seeds.export()
    for name, statement in statements.items():
        path = scratch / "export.sqlite"
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as file:
            file.executescript(statement)
            file.commit()
        yield f"export: {name}", path.read_bytes()
    with closing(sqlite3.connect(":memory:")) as file:
        file.execute("PRAGMA encoding = 'UTF-16'")
        file.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        file.commit()
        yield "export: in UTF-16", file.serialize()
    for cut in (16, 100, 1024, len(whole) // 2):
        yield f"export: cut at {cut}", whole[:cut]
    yield "export: zeros for a page", whole[:1024] + bytes(1024) + whole[2048:]


def _retyped(column: str) -> str:
    """Return statements that give a column of the kernels no type, and a text in a row."""
    return (
        "PRAGMA writable_schema = ON;"
        f"UPDATE sqlite_master SET sql = replace(sql, '{column} ', '{column} ANY_')"
        f" WHERE name = '{_KERNEL}';"
        "PRAGMA writable_schema = RESET;"
        f"UPDATE {_KERNEL} SET {column} = 'seven' WHERE rowid = 3"
    )


_SEGMENT: dict[str, Any] = {
    "device": 0,
    "address": 4096,
    "total_size": 1024,
    "allocated_size": 512,
    "active_size": 512,
    "requested_size": 512,
    "segment_type": "small",
    "blocks": [{"size": 512, "state": "active_allocated", "requested_size": 512}],
}
_ALLOC = {"action": "alloc", "addr": 4096, "size": 512, "time_us": 5}
_WRONG: dict[str, list[tuple[str, Any]]] = {
    "segment": [
        *(("total_size", value) for value in (None, -1, "1", 2**63, 100)),
        *(("allocated_size", value) for value in (-1, 1e3, 4096)),
        *(("device", value) for value in (-1, "cuda")),
        *(("active_size", value) for value in (1, 9999)),
        ("requested_size", 600),
        ("requested_size", []),
        *(("segment_pool_id", value) for value in ([0], "default", [0, "x"])),
        ("address", "0x10"),
        *(("blocks", value) for value in (5, [5], [{"size": -1, "state": ""}])),
        ("segment_type", 7),
    ],
    "event": [
        *(("action", value) for value in (None, 3)),
        *(("size", value) for value in (None, -1, 0.5, 2**62)),
        *(("addr", value) for value in ("x", [1])),
        *(("time_us", value) for value in (-5, "now", 2**62)),
        *(("stack", value) for value in (0, -1, "x")),
    ],
}


def _snapshots() -> Named:
    for record, faults in _WRONG.items():
        for field, value in faults:
            yield f"snapshot: {record}'s {field} {value!r}", _snapshot({record: {field: value}})
    text = _snapshot({})
    for name, content in {
        "no segments": b'{"device_traces": []}',
        "segments are a mapping": b'{"segments": {}, "device_traces": []}',
        "no traces": b'{"segments": []}',
        "traces are a number": b'{"segments": [], "device_traces": 1}',
        "stacks are a number": b'{"segments": [], "device_traces": [], "stacks": 1}',
        "a phase without a name": b'{"segments": [], "device_traces": [], "phases": [{}]}',
        "marks are a text": b'{"segments": [], "device_traces": [], "marks": "x"}',
        "cut": text[: len(text) // 2],
        "text behind": text + b"x",
        "more freed than held": _snapshot({"event": {"action": "alloc", "size": 99999}}),
    }.items():
        yield f"snapshot: {name}", content


def _snapshot(more: dict[str, dict[str, Any]]) -> bytes:
    segment, event = (
        _without_none(record | more.get(name, {}))
        for name, record in (("segment", _SEGMENT), ("event", _ALLOC))
    )
    return json.dumps({"segments": [segment], "device_traces": [[event]]}).encode()


def _without_none(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def _pickles() -> Named:
    snapshot = {"segments": [_SEGMENT], "device_traces": [[_ALLOC]]}
    whole = pickle.dumps(snapshot)
    for name, content in {
        "a list": pickle.dumps([1]),
        "a text": pickle.dumps("segments"),
        "a set": pickle.dumps({"segments": {1}}),
        "a class": pickle.dumps({"segments": Path}),
        "a path": pickle.dumps({"segments": Path("/tmp")}),  # noqa: S108 - never opened
        "a key that is a number": pickle.dumps({1: 2}, 2),
        "segments of text": pickle.dumps(snapshot | {"segments": ["x"]}),
        "a trace of numbers": pickle.dumps(snapshot | {"device_traces": [[1]]}),
        "cut": whole[: len(whole) // 2],
        "no stop": whole[:-1],
        "another behind": whole + whole,
        "an unknown operation": whole[:20] + b"\xff" + whole[21:],
    }.items():
        yield f"pickle: {name}", content


def _reports() -> Named:
    def message(content: bytes) -> bytes:
        return struct.pack("<I", len(content)) + content

    start = b"NVR\0" + message(b"")
    whole = capture_seeds.report()
    for name, content in {
        "nothing behind the magic": b"NVR\0",
        "half a size": b"NVR\0\x01\x00",
        "no blocks": start,
        "a header beyond the end": start + struct.pack("<I", 100),
        "a payload beyond the end": start + message(b"\x28\x80\x80\x40"),
        "an unknown wire type": start + message(b"\x0f"),
        "a number without end": start + message(b"\x80" * 11),
        "a field beyond its message": start + message(b"\x0a\x7f"),
        "a block without results": start + message(b"\x28\x00"),
        "results without a payload": start + message(b"\x10\x03"),
        "cut by a byte": whole[:-1],
        "cut in half": whole[: len(whole) // 2],
        "a block of zeros behind": whole + bytes(4),
    }.items():
        yield f"report: {name}", content


_LIFE: dict[str, Any] = {
    "due_ns": 1,
    "admitted_ns": 2,
    "ended_ns": 9,
    "prompt_tokens": 4,
    "warm_up": False,
    "tokens_ns": [5, 9],
    "preempted_ns": [[6, 7]],
}
_STEP: dict[str, Any] = {
    "start_ns": 2,
    "duration_ns": 3,
    "kind": "prefill",
    "requests": 1,
    "tokens": 4,
    "kv_blocks": 1,
    "host_us": 1.5,
}
_WRONG_LIVES: dict[str, list[Any]] = {
    "due_ns": [-1, 0.5, None, 2**53, 3],
    "admitted_ns": [None, "now", 6],
    "ended_ns": [None, 8],
    "prompt_tokens": [-1, "4", 2**40],
    "warm_up": [0, None],
    "tokens_ns": [[], 5, [9, 5], [0], [None]],
    "preempted_ns": [[], [[7, 6]], [[0, 3]], [[6]], [[6, None]]],
}


def _loads() -> Named:
    for column, values in _WRONG_LIVES.items():
        for value in values:
            yield f"load: {column} {value!r}", _load(_LIFE | {column: value})
    wrong = {"duration_ns": -1, "kind": 5, "host_us": "x", "plan_us": -1, "tokens": None}
    for column, value in wrong.items():
        yield f"load: a step's {column} {value!r}", _load(_LIFE, _STEP | {column: value})
    text = _load(_LIFE)
    for name, content in {
        "of version 2": text.replace(b'"version": 1', b'"version": 2'),
        "no requests": b'{"load": {"version": 1, "end_ns": 9}}',
        "nothing but the key": b'{"load": 1}',
        "a column too short": text.replace(b'"warm_up": [false]', b'"warm_up": []'),
        "host time beyond 64 bits": text.replace(b"1.5", b"1e300"),
        "NaN": text.replace(b"1.5", b"NaN"),
        "a token after the end": text.replace(b'"end_ns": 9', b'"end_ns": 8'),
        "cut": text[: len(text) // 2],
        "text behind": text + b"x",
        "nested deeply": b'{"load": ' + b"[" * 5000,
    }.items():
        yield f"load: {name}", content


def _load(life: dict[str, Any], step: dict[str, Any] = _STEP) -> bytes:
    columns = ({name: [value] for name, value in row.items()} for row in (life, step))
    requests, steps = columns
    run = {"version": 1, "end_ns": 9}
    return json.dumps({"load": run, "requests": requests, "steps": steps}).encode()
