"""A torch trace's tables are what a plain loop over the json module's reading gives."""

import gzip
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.captures import json_stream
from harness.captures.torch_trace import read
from harness.errors import CaptureError
from harness.evidence import SCHEMAS

DATA = Path(__file__).parents[1] / "data" / "torch"
TRACES = ["streams", "graph", "memset_overlap"]
Rows = list[tuple[Any, ...]]
Event = dict[str, Any]

COPIES = {
    "HtoD": "Host-to-Device",
    "DtoH": "Device-to-Host",
    "DtoD": "Device-to-Device",
    "PtoP": "Peer-to-Peer",
}
KERNEL: Event = {
    "ph": "X",
    "cat": "kernel",
    "name": "k",
    "pid": 0,
    "tid": 7,
    "ts": 10.5,
    "dur": 2,
    "args": {"External id": 4, "device": 0, "stream": 7, "correlation": 3, "grid": [1, 2, 3]},
}


def source(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.json.gz").read_bytes())


def found(path: Path, text: bytes | str) -> dict[str, Rows]:
    """Write a trace and return its tables' rows."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return {name: table.rows() for name, table in read(path).items()}


def plain(text: bytes | str) -> dict[str, Rows]:
    """The truth: the json module, exact decimals and one loop."""
    loaded = json.loads(text, parse_float=Decimal)
    events = loaded if isinstance(loaded, list) else loaded["traceEvents"]
    tables: dict[str, Rows] = {"gpu_ops": [], "api_calls": [], "ranges": []}
    operators: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        category, args = event.get("cat"), event.get("args") or {}
        timed = (nanoseconds(event.get("ts")), nanoseconds(event.get("dur")))
        if category in ("kernel", "gpu_memcpy", "gpu_memset"):
            tables["gpu_ops"].append(gpu_row(event, args, timed))
        elif category in ("cuda_runtime", "cuda_driver"):
            row = (event["name"], *timed, integer(event.get("tid")), args.get("correlation"))
            tables["api_calls"].append(row)
        elif category == "user_annotation":
            tables["ranges"].append((event["name"], *timed, integer(event.get("tid"))))
        elif category == "cpu_op":
            operators[event["name"]].append(event)
    return tables | {"operators": operator_rows(operators, events)}


def gpu_row(event: Event, args: Event, timed: tuple[int | None, int | None]) -> tuple[Any, ...]:
    copy = event["cat"] == "gpu_memcpy"
    direction = event["name"].split()[1:2] if event["name"].startswith("Memcpy ") else []
    grid, block = (
        ",".join(map(str, args[key])) if isinstance(args.get(key), list) else None
        for key in ("grid", "block")
    )
    return (
        {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "memset"}[event["cat"]],
        event["name"],
        *((None, None) if timed == (0, 0) else timed),
        args.get("device"),
        args.get("stream"),
        grid,
        block,
        args.get("registers per thread"),
        args.get("shared memory"),
        args.get("bytes"),
        COPIES.get(direction[0]) if copy and direction else None,
        args.get("correlation"),
        args.get("graph node id"),
    )


def operator_rows(operators: dict[str, list[Event]], events: list[Event]) -> Rows:
    gpu: dict[int, int] = defaultdict(int)
    for event in events:
        number = (event.get("args") or {}).get("External id")
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and number is not None:
            gpu[number] += nanoseconds(event["dur"]) or 0
    owners: dict[int | None, int] = defaultdict(int)
    for event in (event for group in operators.values() for event in group):
        owners[(event.get("args") or {}).get("External id")] += 1
    rows: Rows = []
    for name, group in operators.items():
        ids = [(event.get("args") or {}).get("External id") for event in group]
        known = gpu and all(number is not None and owners[number] == 1 for number in ids)
        total = sum(nanoseconds(event["dur"]) or 0 for event in group)
        device = sum(gpu.get(number, 0) for number in ids) if known else None
        rows.append((name, len(group), total, device))
    return rows


def nanoseconds(us: int | Decimal | None) -> int | None:
    return None if us is None else int((Decimal(us) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_real_traces_are_read_as_the_plain_loop_reads_them(tmp_path, name, compress):
    text = source(name)
    path = tmp_path / "trace.json"
    assert found(path, compress(text)) == plain(text)
    for table, rows in read(path).items():
        assert rows.columns == list(SCHEMAS[table])


def turned(value: Any) -> Any:
    """The same JSON with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(one) for one in value] if isinstance(value, list) else value


REWRITTEN: dict[str, Callable[[Any], str]] = {
    "minified": lambda trace: json.dumps(trace, separators=(",", ":")),
    "indented": lambda trace: json.dumps(trace, indent=3),
    "keys turned round": lambda trace: json.dumps(turned(trace)),
    "events last": lambda trace: json.dumps(dict(sorted(trace.items(), key=len))),
    "a list": lambda trace: json.dumps(trace["traceEvents"]),
    "the key twice, once inside": lambda trace: json.dumps({"x": trace, **trace, "z": trace}),
}


@pytest.mark.parametrize("rewrite", REWRITTEN.values(), ids=REWRITTEN)
@pytest.mark.parametrize("block", [5_000, json_stream.BLOCK])
def test_layout_does_not_matter(tmp_path, rewrite, block):
    text = source("streams")
    rewritten = rewrite(json.loads(text))
    with patch.object(json_stream, "BLOCK", block):
        assert found(tmp_path / "trace.json", rewritten) == plain(text)


names = st.sampled_from(
    ["k", "void f<int>({lambda()#1})", '"}, {"cat": "kernel"}', "\\", "é😀\x7f", "},{", ""]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ids = st.none() | st.integers(0, 5)
times = (
    st.integers(0, 2**51)
    | st.integers(0, 2**43 * 1000 - 1).map(lambda ns: Decimal(ns).scaleb(-3))
    | st.integers(0, 2**51 * 1000).map(lambda ns: Decimal(ns).scaleb(-3))
)
durations = st.integers(0, 10**6) | st.integers(0, 10**9).map(lambda ns: Decimal(ns).scaleb(-3))
shapes = st.none() | st.lists(st.integers(0, 2**31), min_size=3, max_size=3) | st.just("grid(1,)")
arguments = st.fixed_dictionaries(
    {},
    optional={
        "External id": ids,
        "correlation": ids,
        "device": ids,
        "stream": ids,
        "grid": shapes,
        "block": shapes,
        "registers per thread": ids,
        "shared memory": ids,
        "bytes": st.none() | st.integers(0, 2**62),
        "graph node id": st.none() | st.integers(0, 2**62),
        "other": st.lists(st.fixed_dictionaries({"x": names}), max_size=3),
    },
)
wanted = st.fixed_dictionaries(
    {
        "cat": st.sampled_from(
            ["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "user_annotation", "cpu_op"]
        ),
        "name": names | st.sampled_from(["Memcpy HtoD (Pinned -> Device)", "Memcpy PtoP", "Memcpy"]),
        "ts": times,
        "dur": durations,
        "tid": st.integers(0, 2**31) | st.just("main"),
    },
    optional={"args": st.none() | arguments, "ph": st.just("X"), "extra": names},
)
unwanted = st.fixed_dictionaries(
    {"cat": st.sampled_from(["ac2g", "Trace", None, 5, ["kernel"], {"cat": "kernel"}])},
    optional={"ts": names | st.just(-1), "args": names | st.just([]), "name": st.none() | ids},
)


@given(events=st.lists(wanted | unwanted, min_size=1, max_size=12), block=st.integers(1, 2000))
@settings(max_examples=250, deadline=None)
def test_hostile_traces_are_read_as_the_plain_loop_reads_them(tmp_path_factory, events, block):
    text = json.dumps(events, default=float_text)
    for value in {str(event.get("ts")) for event in events} | {str(e.get("dur")) for e in events}:
        text = text.replace(f'"@{value}"', value)
    for event in events:  # the plain loop takes args of any type only where they are an object
        if not isinstance(event.get("args"), dict | None):
            event["args"] = None
    readable = json.dumps(events, default=float_text).replace('"@', "").replace('@"', "")
    assert readable
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    with patch.object(json_stream, "BLOCK", block):
        assert found(path, text) == plain(text)


def float_text(number: Decimal) -> str:
    return f"@{number}"
