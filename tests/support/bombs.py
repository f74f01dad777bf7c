"""Small files that stand for much: each would take gigabytes or minutes from a reader that trusts.

Each function writes its bomb to a path; ``BOMBS`` has them by name.
"""

import gzip
import json
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

from harness.captures import sniff
from tests.support.paths import DATA

Maker = Callable[[Path], None]
BOMBS: dict[str, Maker] = {}
"""Makers by name; a name begins with the format."""


def bomb(name: str) -> Callable[[Maker], Maker]:
    """Enter a maker under its name."""

    def enter(maker: Maker) -> Maker:
        BOMBS[name] = maker
        return maker

    return enter


def _export(path: Path, *statements: str) -> None:
    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as plain:
        path.write_bytes(plain.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = OFF")
        for statement in statements:
            file.execute(statement)
        file.commit()


_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1000000 UNION ALL SELECT i + 1 FROM n WHERE i < {most})"


@bomb("sqlite: a long text as a column's default")
def _(path: Path) -> None:
    _export(
        path,
        "DROP TABLE StringIds",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY)",
        _NUMBERS.format(most=1_020_000) + " INSERT INTO StringIds SELECT i FROM n",
        f"ALTER TABLE StringIds ADD COLUMN value TEXT DEFAULT '{'x' * 500_000}'",
    )


@bomb("sqlite: the default of a range's text")
def _(path: Path) -> None:
    _export(
        path,
        "DROP TABLE NVTX_EVENTS",
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER,"
        " globalTid INTEGER)",
        _NUMBERS.format(most=1_020_000) + " INSERT INTO NVTX_EVENTS SELECT i, i + 1, 59, 1 FROM n",
        f"ALTER TABLE NVTX_EVENTS ADD COLUMN text TEXT DEFAULT '{'x' * 300_000}'",
    )


def _crowded(path: Path, entry: str) -> None:
    """Write an export whose schema lists 300 000 entries: type, name, table, root page, SQL."""
    _export(
        path,
        "PRAGMA writable_schema = ON",
        _NUMBERS.format(most=1_300_000) + f" INSERT INTO sqlite_master SELECT {entry} FROM n",
    )


@bomb("sqlite: many tables")
def _(path: Path) -> None:
    _crowded(path, "'table', 't' || i, 't' || i, 2, 'CREATE TABLE t' || i || '(a)'")


@bomb("sqlite: many views")
def _(path: Path) -> None:
    _crowded(path, "'view', 'v' || i, 'v' || i, 0, 'CREATE VIEW v' || i || ' AS SELECT 1'")


@bomb("sqlite: an endless view")
def _(path: Path) -> None:
    _export(
        path,
        "ALTER TABLE TARGET_INFO_GPU RENAME TO moved",
        "CREATE VIEW TARGET_INFO_GPU AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1"
        " FROM n) SELECT id, 'GPU' AS name FROM n",
    )


@bomb("sqlite: a computed column")
def _(path: Path) -> None:
    _export(
        path,
        "DROP TABLE StringIds",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY,"
        " value TEXT AS (CAST(zeroblob(100000000) AS TEXT)))",
        "INSERT INTO StringIds (id) VALUES (1000001)",
    )


@bomb("sqlite: one leaf for many pages")
def _(path: Path) -> None:
    _export(
        path,
        "DROP TABLE StringIds",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
        _NUMBERS.format(most=1_020_000)
        + " INSERT INTO StringIds SELECT i, hex(randomblob(40)) FROM n",
    )
    with closing(sqlite3.connect(path)) as file:
        (root,) = file.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'StringIds'"
        ).fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    page = (root - 1) * size
    (cells,) = struct.unpack_from(">H", data, page + 3)
    pointers = [struct.unpack_from(">H", data, page + 12 + 2 * n)[0] for n in range(cells)]
    for pointer in pointers:  # an interior cell begins with the number of its child page
        data[page + pointer : page + pointer + 4] = data[
            page + pointers[0] : page + pointers[0] + 4
        ]
    path.write_bytes(data)


@bomb("sqlite in zstd: half a gigabyte of one letter")
def _(path: Path) -> None:
    plain = path.with_suffix(".plain")
    _export(
        plain,
        _NUMBERS.format(most=1_000_031)
        + " INSERT INTO StringIds SELECT i, CAST(zeroblob(16000000) AS TEXT) FROM n",
    )
    with plain.open("rb") as source, path.open("wb") as target:
        zstandard.ZstdCompressor(level=1).copy_stream(source, target)
    plain.unlink()


def _gzipped(path: Path, *parts: tuple[bytes, int]) -> None:
    with gzip.open(path, "wb", compresslevel=9) as file:
        for part, times in parts:
            step = max(1, (1 << 20) // len(part))
            for at in range(0, times, step):
                file.write(part * min(step, times - at))


_SEGMENTS = b'{"segments":[],"device_traces":[]'


@bomb("snapshot: stacks that are numbers")
def _(path: Path) -> None:
    _gzipped(path, (_SEGMENTS + b',"stacks":[', 1), (b"0,", 5_000_000), (b"0]}", 1))


@bomb("snapshot: empty stacks")
def _(path: Path) -> None:
    _gzipped(path, (_SEGMENTS + b',"stacks":[', 1), (b"[],", 10_000_000), (b"[]]}", 1))


@bomb("snapshot: traces without events")
def _(path: Path) -> None:
    _gzipped(path, (b'{"segments":[],"device_traces":[', 1), (b"[],", 10_000_000), (b"[]]}", 1))


@bomb("snapshot: small segments")
def _(path: Path) -> None:
    segment = b'{"total_size":1,"allocated_size":0},'
    _gzipped(path, (b'{"segments":[', 1), (segment, 1_000_000), (segment[:-1], 1))
    _append(path, b'],"device_traces":[]}')


def _append(path: Path, text: bytes) -> None:
    path.write_bytes(path.read_bytes() + gzip.compress(text))


@bomb("snapshot: small events of long phases")
def _(path: Path) -> None:
    event = b'{"action":"alloc","size":1,"addr":1,"time_us":5},'
    phase = b'{"name":"' + b"x" * 1_000_000 + b'","time_us":1}'
    _gzipped(path, (b'{"segments":[],"phases":[' + phase + b'],"device_traces":[[', 1))
    _append(path, event * 1_000_000 + event[:-1] + b"]]}")


@bomb("snapshot: nested lists")
def _(path: Path) -> None:
    _gzipped(path, (_SEGMENTS + b',"other":', 1), (b"[", 30_000_000))


@bomb("trace: nested lists")
def _(path: Path) -> None:
    _gzipped(path, (b'{"traceEvents":[{"args":', 1), (b"[", 30_000_000))


@bomb("trace: blanks")
def _(path: Path) -> None:
    _gzipped(path, (b'{"traceEvents":[', 1), (b" ", 300_000_000), (b"]}", 1))


@bomb("trace: blanks in zstd")
def _(path: Path) -> None:
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        packed.write(b'{"traceEvents":[')
        for _ in range(300):
            packed.write(b" " * (1 << 20))


@bomb("trace: many members of gzip")
def _(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"traceEvents":[') + gzip.compress(b" " * 100_000) * 20_000)


@bomb("trace: events of nothing")
def _(path: Path) -> None:
    _gzipped(path, (b'{"traceEvents":[{}', 1), (b",{}", 30_000_000), (b"]}", 1))


@bomb("trace: operators in operators")
def _(path: Path) -> None:
    events = []
    for depth in range(900):
        events.append(_event("cpu_op", "op", depth, 2_000_000 - 2 * depth, tid=1))
    for launch in range(120_000):
        times = 900 + 5 * launch
        arguments = {"correlation": launch, "device": 0, "stream": 7}
        for category in ("cuda_runtime", "kernel"):
            events.append(_event(category, "k", times, 1, tid=1, args=arguments))
        events.append(_event("cpu_op", "short", times - 2, 1, tid=1))
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))


def _event(category: str, name: str, start: int, duration: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, **more}


@bomb("trace: a long list of devices")
def _(path: Path) -> None:
    _gzipped(path, (b'{"traceEvents":[],"deviceProperties":[{}', 1), (b",{}", 20_000_000))
    _append(path, b"]}")


@bomb("trace: a name of sixty megabytes")
def _(path: Path) -> None:
    _gzipped(
        path,
        (b'{"traceEvents":[{"cat":"kernel","ts":1,"dur":1,"name":"', 1),
        (b"x", 60_000_000),
        (b'"}]}', 1),
    )


@bomb("trace: a long name")
def _(path: Path) -> None:
    start = b'{"traceEvents":[{"cat":"kernel","ts":1,"dur":1,"name":"'
    _gzipped(path, (start, 1), (b"x", 10_000_000), (b'"}]}', 1))


@bomb("trace: many names")
def _(path: Path) -> None:
    names = (f"{number:04}".encode() * 20_000 for number in range(400))
    events = (b'{"cat":"kernel","ts":1,"dur":1,"name":"%b"}' % name for name in names)
    path.write_bytes(gzip.compress(b'{"traceEvents":[' + b",".join(events) + b"]}"))


def _text(word: str) -> bytes:
    return b"X" + len(word).to_bytes(4, "little") + word.encode()


def _pickled(path: Path, segments: bytes, traces: bytes, rest: bytes = b"") -> None:
    program = b"\x80\x02}(" + _text("segments") + segments + _text("device_traces") + traces + rest
    path.write_bytes(zstandard.compress(program + b"u."))


_SEGMENT = b"}(" + _text("total_size") + b"K\x08" + _text("allocated_size") + b"K\x00"
_BLOCK = b"}(" + _text("size") + b"K\x00" + _text("state") + _text("inactive") + b"uq\x01"
_EVENT = b"}(" + _text("action") + _text("alloc") + _text("size") + b"K\x01uq\x03"


@bomb("pickle: one segment many times")
def _(path: Path) -> None:
    shared = _SEGMENT + b"uq\x02"
    _pickled(path, b"](" + shared + b"h\x02" * 20_000_000 + b"e", b"]")


@bomb("pickle: one list of blocks for all segments")
def _(path: Path) -> None:
    blocks = _text("blocks") + b"](" + _BLOCK + b"h\x01" * 30_000 + b"euq\x02"
    _pickled(path, b"](" + _SEGMENT + blocks + b"h\x02" * 130 + b"e", b"]")


@bomb("pickle: one event many times")
def _(path: Path) -> None:
    _pickled(path, b"]", b"](](" + _EVENT + b"h\x03" * 20_000_000 + b"ee")


@bomb("pickle: one history for all devices")
def _(path: Path) -> None:
    history = b"](" + _EVENT + b"h\x03" * 100_000 + b"eq\x04"
    _pickled(path, b"]", b"](" + history + b"h\x04" * 100_000 + b"e")


@bomb("pickle: one list of segments for all marks")
def _(path: Path) -> None:
    mark = b"}(" + b"".join(
        _text(key) + b"K\x01" for key in ("time_us", "used_bytes", "reserved_bytes")
    )
    mark += _text("allocated_bytes") + b"K\x01" + _text("phase") + _text("p") + _text("segments")
    mark += b"](" + _SEGMENT + b"uq\x05" + b"h\x05" * 3_000 + b"euq\x06"
    _pickled(path, b"]", b"]", _text("marks") + b"](" + mark + b"h\x06" * 1_300 + b"e")


@bomb("pickle: lists in lists")
def _(path: Path) -> None:
    _pickled(path, b"]", b"]" * 30_000_000)


@bomb("ncu: a header of small fields")
def _(path: Path) -> None:
    header = b"\x10\x01" * (100 << 20)
    report = b"NVR\0" + struct.pack("<I", 0) + struct.pack("<I", len(header)) + header
    path.write_bytes(zstandard.compress(report))


@bomb("ncu: a header of small fields, unpacked")
def _(path: Path) -> None:
    header = b"\x10\x01" * (10 << 20)
    path.write_bytes(b"NVR\0" + struct.pack("<I", 0) + struct.pack("<I", len(header)) + header)


REFUSED = {
    "sqlite: a long text as a column's default": "column value has a default",
    "sqlite: the default of a range's text": "column text has a default",
    "sqlite: many tables": "a schema of more than 4,000 tables, indices and views",
    "sqlite: many views": "a schema of more than 4,000 tables, indices and views",
    "sqlite: an endless view": "TARGET_INFO_GPU is no table but a view",
    "sqlite: a computed column": "table StringIds has computed columns",
    "sqlite: one leaf for many pages": "table StringIds is damaged",
    "sqlite in zstd: half a gigabyte of one letter": "unpacks to more than",
    "snapshot: traces without events": "traces of 10,000,001 devices",
    "snapshot: small events of long phases": "contradict each other",
    "snapshot: nested lists": "maximum recursion depth exceeded",
    "trace: nested lists": "JSON nested too deeply",
    "trace: blanks": "no end of a JSON value within 64 MB",
    "trace: blanks in zstd": "unpacks to more than",
    "trace: many members of gzip": "no end of a JSON value within 64 MB",
    "trace: events of nothing": "unpacks to more than",
    "trace: a long list of devices": "unpacks to more than",
    "trace: a name of sixty megabytes": "unpacks to more than",
    "trace: a long name": "a name of 10,000,000 bytes, in the table gpu_ops",
    "trace: many names": "distinct names and shapes, or",
    "pickle: one segment many times": "unpacks to more than",
    "pickle: one list of blocks for all segments": "it repeats some of them",
    "pickle: one event many times": "unpacks to more than",
    "pickle: one history for all devices": "it repeats some of them",
    "pickle: one list of segments for all marks": "it repeats some of them",
    "pickle: lists in lists": "a pickle whose stack grows above 1,000,000",
    "ncu: a header of small fields": "unpacks to more than",
    "ncu: a header of small fields, unpacked": "a header of more than 100,000 fields",
}
"""What is said of each bomb."""

HARMLESS = {
    "snapshot: stacks that are numbers",  # which no event names
    "snapshot: empty stacks",
    "snapshot: small segments",
    "trace: operators in operators",
}
"""Bombs that are read in little time and memory."""
