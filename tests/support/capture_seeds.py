"""Small captures of every form, cut from those of tests/data: what mutants are made of."""

import json
import pickle
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.captures import sniff
from harness.captures.formats.compressed import blocks
from harness.captures.ncu import read
from tests.support.paths import DATA

_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_HOST = ("cuda_runtime", "cuda_driver")
_AROUND = ("cpu_op", "user_annotation", "python_function")


def trace() -> bytes:
    """Return a trace of few events, all that is read among them."""
    whole = _trace("torch/memset_overlap")
    kept: dict[str, list[Any]] = {}
    for event in whole["traceEvents"]:
        kept.setdefault(event.get("cat", ""), []).append(event)
    whole["traceEvents"] = [event for events in kept.values() for event in events[:6]]
    return json.dumps(whole).encode()


def training_steps() -> bytes:
    """Return a trace of two training steps with modules: 24 operations, and what launched them."""
    whole = _trace("training_steps/llama")
    events = whole["traceEvents"]
    ops = [event for event in events if event.get("cat") in _GPU]
    ops = ops[:: -(-len(ops) // 24)]
    numbers = {op["args"]["correlation"] for op in ops}
    calls = [
        event
        for event in events
        if event.get("cat") in _HOST and event["args"].get("correlation") in numbers
    ]
    flows = [event for event in events if event.get("cat") == "ac2g" and event["id"] in numbers]
    around = [
        event
        for event in events
        if event.get("cat") in _AROUND and any(_holds(event, call) for call in calls)
    ]
    whole["traceEvents"] = [*ops, *calls, *flows[:8], *around]
    return json.dumps(whole).encode()


def planted_steps(name: str = "streams") -> bytes:
    """Return a trace of three of the probe's steps, of a program of tests/data/differences."""
    whole = _trace(f"differences/{name}")
    events = [event for event in whole["traceEvents"] if isinstance(event.get("ts"), int | float)]
    marks = [event for event in events if event.get("cat") == "user_annotation"]
    end = sorted(event["ts"] for event in marks)[3]
    whole["traceEvents"] = [
        event for event in events if event["ts"] < end and event.get("cat") != "ac2g"
    ]
    return json.dumps(whole).encode()


def _trace(name: str) -> dict[str, Any]:
    (packed,) = DATA.glob(f"{name}.json.*")
    whole: dict[str, Any] = json.loads(b"".join(blocks(packed, 1 << 20)))
    return whole


def _holds(event: dict[str, Any], call: dict[str, Any]) -> bool:
    since = call["ts"] - event["ts"]
    return bool(event["tid"] == call["tid"] and 0 <= since < event["dur"])


def export(name: str = "streams") -> bytes:
    """Return an export of few rows, in small pages."""
    with sniff.opened(DATA / f"nsys/{name}.sqlite.zst") as plain:
        file = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(plain)) as source:
            source.backup(file)
    with closing(file):
        for table in _tables(file):
            if table.startswith("ENUM_"):
                file.execute(f"DROP TABLE {table}")
            elif table != "StringIds":
                file.execute(f"DELETE FROM {table} WHERE rowid > 12")
        file.execute("DELETE FROM StringIds WHERE length(value) > 2000")
        file.commit()
        file.execute("PRAGMA page_size = 1024")
        file.execute("VACUUM")
        return file.serialize()


def unconstrained_export(name: str) -> bytes:
    """Return an export of few rows whose columns take any value, and its names that are used."""
    with closing(sqlite3.connect(":memory:")) as file:
        file.deserialize(export(name))
        for table in _tables(file):
            if table.startswith("TARGET_INFO_CUDA_STREAM"):
                file.execute(f"DELETE FROM {table}")
        file.execute("PRAGMA writable_schema = 1")
        file.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
        file.commit()
        return file.serialize()


def _tables(file: sqlite3.Connection) -> Iterable[str]:
    rows = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in rows]


def snapshot() -> dict[str, Any]:
    """Return torch's own snapshot with a short history."""
    whole = pickle.loads(b"".join(blocks(DATA / "memory/graph.pickle.zst", 1 << 20)))  # noqa: S301 - of these tests
    return {
        "segments": whole["segments"][:4],
        "device_traces": [history[-24:] for history in whole["device_traces"]],
    }


def snapshot_in_json() -> bytes:
    """Return the same in JSON."""
    return json.dumps(snapshot()).encode()


def phases() -> bytes:
    """Return the probe's JSON of a process with phases, marks and graph pools, in short."""
    whole = json.loads(b"".join(blocks(DATA / "memory/stack_bf16_graphs.json.gz", 1 << 20)))
    whole["stacks"] = [stack[:3] for stack in whole["stacks"]]
    return json.dumps(whole).encode()


def report(name: str = "differences/longer") -> bytes:
    """Return a report of Nsight Compute."""
    return b"".join(blocks(DATA / f"{name}.ncu-rep.zst", 1 << 20))


def launches(name: str = "differences/longer") -> bytes:
    """Return what is read of a report: a line of JSON a launch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report"
        path.write_bytes(report(name))
        return read.rows_of(path, Path(folder)).read_bytes()
