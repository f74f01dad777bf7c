"""A torch trace's tables are what a plain loop over the json module's reading gives."""

import gzip
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.captures.formats import json_stream
from harness.captures.formats.json_stream import ListDecoder
from harness.captures.torch import columns, tables
from harness.captures.torch.read import read
from harness.evidence.tables import SCHEMAS
from harness.ground.errors import CaptureError
from tests.support.launches import CALLS, GPU, Event, nanoseconds, operator_rows, thread
from tests.support.paths import DATA

DATA = DATA / "torch"
TRACES = ["streams", "graph", "memset_overlap"]
OF_EVENTS = ("gpu_ops", "api_calls", "ranges", "operators")
Rows = list[tuple[Any, ...]]

COPIES = {
    "HtoD": "Host-to-Device",
    "DtoH": "Device-to-Host",
    "DtoD": "Device-to-Device",
    "PtoP": "Peer-to-Peer",
}
CATEGORIES = [*GPU, *CALLS, "user_annotation", "cpu_op"]
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
    """Write a trace and return the rows of the tables of its events."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return {name: table.rows() for name, table in read(path).items() if name in OF_EVENTS}


def plain(text: bytes | str) -> dict[str, Rows]:
    """The truth: the json module, exact decimals and one loop."""
    loaded = json.loads(text, parse_float=Decimal)
    events = loaded if isinstance(loaded, list) else loaded["traceEvents"]
    tables: dict[str, Rows] = {"gpu_ops": [], "api_calls": [], "ranges": []}
    for event in events:
        category, args = event.get("cat"), event.get("args") or {}
        if not isinstance(category, str) or category not in CATEGORIES:
            continue
        timed = (nanoseconds(event["ts"]), nanoseconds(event.get("dur")))
        if category in GPU:
            tables["gpu_ops"].append(gpu_row(event, args, timed))
        elif category in CALLS:
            row = (event["name"], *timed, thread(event.get("tid")), args.get("correlation"))
            tables["api_calls"].append(row)
        elif category == "user_annotation":
            tables["ranges"].append((event["name"], *timed, thread(event.get("tid"))))
    return tables | {"operators": [*operator_rows(events)]}


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
        args.get("Collective name"),
    )


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_real_traces_are_read_as_the_plain_loop_reads_them(
    tmp_path: Path, name: str, compress: Any
) -> None:
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
def test_layout_does_not_matter(tmp_path: Path, rewrite: Any, block: int) -> None:
    text = source("streams")
    rewritten = rewrite(json.loads(text))
    with patch.object(json_stream, "BLOCK", block):
        assert found(tmp_path / "trace.json", rewritten) == plain(text)


names = st.sampled_from(
    ["k", "void f<int>({lambda()#1})", '"}, {"cat": "kernel"}', "\\", "é😀\x7f", "},{", ""]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ids = st.none() | st.integers(0, 5)
whole_us = st.integers(0, 2**51)
decimal_us = (st.integers(0, 2**53) | st.integers(0, 2**51 * 1000)).map(lambda ns: f"@{ns}@")
times = whole_us | decimal_us
durations = st.integers(0, 10**6) | st.integers(0, 10**9).map(lambda ns: f"@{ns}@")
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
        "Collective name": st.none() | names,
        "other": st.lists(st.fixed_dictionaries({"x": names}), max_size=3),
    },
)
wanted = st.fixed_dictionaries(
    {
        "cat": st.sampled_from(CATEGORIES),
        "name": names
        | st.sampled_from(["Memcpy HtoD (Pinned -> Device)", "Memcpy PtoP", "Memcpy"]),
        "ts": times,
        "dur": durations,
        "tid": st.integers(0, 2**31) | st.just("main"),
    },
    optional={"args": st.none() | arguments, "ph": st.just("X"), "extra": names},
)
unwanted: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"cat": st.sampled_from(["ac2g", "Trace", None, 5, ["kernel"], {"cat": "kernel"}])},
    optional={"ts": names | st.just(-1), "args": names | st.just([]), "name": st.none() | ids},
)


def with_decimals(text: str) -> str:
    """Write each "@nanoseconds@" as the decimal number of microseconds that it stands for."""
    return re.sub(r'"@(\d+)@"', lambda ns: f"{Decimal(ns[1]).scaleb(-3):f}", text)


@given(events=st.lists(wanted | unwanted, min_size=1, max_size=12), block=st.integers(1, 2000))
@settings(max_examples=100, deadline=None)
def test_hostile_traces_are_read_as_the_plain_loop_reads_them(
    tmp_path_factory: pytest.TempPathFactory, events: Any, block: int
) -> None:
    text = with_decimals(json.dumps([*events, KERNEL]))
    with patch.object(json_stream, "BLOCK", block):
        assert found(tmp_path_factory.getbasetemp() / "hostile.json", text) == plain(text)


@pytest.mark.parametrize(
    ("us", "ns"),
    [
        ("0.001", 1),
        ("1e3", 1_000_000),
        ("4359302395366.585", 4359302395366585),
        ("7889237999999.999", 7889237999999999),
        ("8796093022209.001", 8796093022209001),
        ("1621401187223005", 1621401187223005000),
        ("1621401187223005.123", 1621401187223005123),
        ("12.0004", 12000),
    ],
)
def test_times_are_exact_nanoseconds(tmp_path: Path, us: Any, ns: Any) -> None:
    text = json.dumps([KERNEL]).replace("10.5", us)
    assert [row[2] for row in found(tmp_path / "trace.json", text)["gpu_ops"]] == [ns]


def test_a_run_without_a_gpu_has_no_gpu_operations(tmp_path: Path) -> None:
    events = [
        {"cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2.5, "args": {"External id": 1}}
    ]
    tables = found(tmp_path / "trace.json", json.dumps({"traceEvents": events}))
    assert tables == {
        "gpu_ops": [],
        "api_calls": [],
        "ranges": [],
        "operators": [("aten::mm", 1, 2500, None)],
    }


def test_an_operation_that_could_not_be_timed_has_no_time(tmp_path: Path) -> None:
    rows = found(tmp_path / "trace.json", json.dumps([KERNEL | {"ts": 0.0, "dur": 0}]))["gpu_ops"]
    assert rows[0][2:4] == (None, None)


def test_a_range_may_lack_an_end(tmp_path: Path) -> None:
    event = {"cat": "user_annotation", "name": "r", "ts": 1, "tid": 3}
    assert found(tmp_path / "t.json", json.dumps([event]))["ranges"] == [("r", 1000, None, 3)]


def test_a_copy_between_gpus_is_on_the_one_that_made_it(tmp_path: Path) -> None:
    copy = KERNEL | {"cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)"}
    copy["args"] = {"fromDevice": 0, "inDevice": 1, "toDevice": 2, "bytes": 8}
    row = read_one(tmp_path, copy)
    assert (row["device"], row["copy_kind"], row["bytes"]) == (1, "Peer-to-Peer", 8)


def read_one(folder: Path, event: Event) -> dict[str, Any]:
    (folder / "one.json").write_text(json.dumps([event]))
    return read(folder / "one.json")["gpu_ops"].row(0, named=True)


def kernel(**changes: Any) -> str:
    return json.dumps([{"cat": "ac2g"}, KERNEL, KERNEL | changes])


BAD = {
    "no events": '{"traceEvents": []}',
    "no event that is read": '[{"cat": "ac2g", "name": "k", "ts": 1, "dur": 1}, {}]',
    "more than 292 years in sum": json.dumps([KERNEL | {"dur": 2**43}] * 1050),
    "an event that is no object": f"[{json.dumps(KERNEL)}, 7]",
    "no name": kernel(name=None),
    "a number for a name": kernel(name=5),
    "no ts": kernel(ts=None),
    "text for ts": kernel(ts="12"),
    "a list for ts": kernel(ts=[]),
    "negative ts": kernel(ts=-1),
    "late ts": kernel(ts=2**52 + 1),
    "huge ts": kernel(ts=10**25),
    "5000 digits": json.dumps([KERNEL]).replace("10.5", "1" * 5000),
    "1e999": json.dumps([KERNEL]).replace("10.5", "1e999"),
    "NaN": kernel(ts=float("nan")),
    "Infinity": kernel(dur=float("inf")),
    "no dur": kernel(dur=None),
    "long dur": kernel(dur=2**43 + 1),
    "text for a stream": kernel(args={"stream": "7"}),
    "a fraction for a stream": kernel(args={"stream": 7.5}),
    "a huge correlation": kernel(args={"correlation": 2**63}),
    "two numbers for a grid": kernel(args={"grid": [1, 2]}),
    "a list for arguments": kernel(args=[]),
    "host call without ts": kernel(cat="cuda_runtime", ts=None),
    "operator without dur": kernel(cat="cpu_op", dur=None),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_trace_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(CaptureError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


BOUNDS: dict[str, tuple[str, int, Callable[[int], Event]]] = {
    "rows": ("_MOST_ROWS", 4, lambda _: {}),
    "names": ("_MOST_STRINGS", 6, lambda i: {"name": f"k{i}"}),
    "length of names": ("_MOST_TEXT", 60, lambda i: {"name": f"a name of 16: {i:02}"}),
    "shapes": ("_MOST_STRINGS", 6, lambda i: {"args": {"grid": [i, 1, 1]}}),
}


@pytest.mark.parametrize(("bound", "most", "changes"), BOUNDS.values(), ids=BOUNDS)
def test_what_would_fill_the_memory_is_refused(
    tmp_path: Path, bound: str, most: int, changes: Any
) -> None:
    events = [KERNEL | changes(i) for i in range(10)]
    with patch.object(tables if hasattr(tables, bound) else columns, bound, most):
        assert len(found(tmp_path / "few.json", json.dumps(events[:2]))["gpu_ops"]) == 2
        with pytest.raises(CaptureError, match="more than"):
            found(tmp_path / "many.json", json.dumps(events))


def test_changed_bytes_give_tables_or_one_error(tmp_path: Path) -> None:
    chance = random.Random(3)
    trace = json.loads(source("streams"))
    trace["traceEvents"] = trace["traceEvents"][:40] + trace["traceEvents"][500:540]
    whole = json.dumps(trace).encode()
    path = tmp_path / "trace.json"
    refused = 0
    for _ in range(600):
        text = bytearray(whole)
        text[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(text))
        try:
            read(path)
        except CaptureError:
            refused += 1
    assert 300 < refused < 600


def test_reading_waits_for_its_heavy_imports() -> None:
    code = "import sys, harness.captures.torch.read; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_categories_of_2021_are_read_as_those_of_today(tmp_path: Path) -> None:
    today = [
        KERNEL,
        KERNEL | {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)"},
        KERNEL | {"cat": "gpu_memset", "name": "Memset (Device)"},
        KERNEL | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 4, "tid": 12},
        KERNEL | {"cat": "cpu_op", "name": "aten::mm", "ts": 2, "dur": 7, "tid": 12},
        KERNEL | {"cat": "user_annotation", "name": "ProfilerStep#1", "ts": 1, "tid": 12},
        KERNEL | {"cat": "user_annotation", "name": "Optimizer.step#SGD.step", "tid": 12},
    ]
    names = ["Kernel", "Memcpy", "Memset", "Runtime", "Operator", "Operator", "Operator"]
    old = [
        event | {"cat": name, "tid": str(event["tid"])}
        for event, name in zip(today, names, strict=True)
    ]
    assert found(tmp_path / "old.json", json.dumps(old)) == plain(json.dumps(today))


@pytest.mark.parametrize("category", ["xpu_runtime", "xpu_driver", "mtia_runtime"])
def test_host_calls_of_other_devices_launch(tmp_path: Path, category: str) -> None:
    operator = KERNEL | {"cat": "cpu_op", "name": "aten::mm", "ts": 2, "dur": 7}
    launch = KERNEL | {"cat": category, "name": "enqueue", "ts": 4, "dur": 1}
    tables = found(tmp_path / "t.json", json.dumps([operator, launch, KERNEL]))
    assert tables["api_calls"] == [("enqueue", 4000, 1000, 7, 3)]
    assert tables["operators"] == [("aten::mm", 1, 7000, 2000), ("unattributed", 0, None, 0)]


def test_waiting_of_an_mtia_is_no_work(tmp_path: Path) -> None:
    names = ["dma_request", "event_wait", "fc-dtype_Float", "event_record"]
    events = [KERNEL | {"cat": "mtia_ccp_events", "name": name} for name in names]
    (tmp_path / "t.json").write_text(json.dumps(events))
    known = read(tmp_path / "t.json")
    assert known["gpu_ops"].select("kind", "name").rows() == [
        ("copy", "dma_request"),
        ("kernel", "fc-dtype_Float"),
    ]
    assert known["conditions"].rows() == [("not read", "mtia_ccp_events 2")]


def test_text_among_the_arguments_of_a_host_call_is_no_fault(tmp_path: Path) -> None:
    """AMD's runtime calls have the sizes and streams of copies as text."""
    args = {"correlation": 3, "bytes": "4096", "stream": "0x5c1", "kind": "Host->Device"}
    copy = KERNEL | {"cat": "cuda_runtime", "name": "hipMemcpyAsync", "args": args}
    with patch.object(ListDecoder, "_one_by_one") as slow:
        rows = found(tmp_path / "t.json", json.dumps([copy]))["api_calls"]
    assert rows == [("hipMemcpyAsync", 10500, 2000, 7, 3)]
    assert not slow.called
