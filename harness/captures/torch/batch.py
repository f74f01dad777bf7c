"""The columns of some pieces' events, collected as plain lists and then made frames at once.

A frame takes much longer to begin than to fill, and events are best looked at while the processor's
cache still holds them: so pieces are small, and several of them make a batch.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import compress
from typing import Any

import msgspec
import polars as pl

from harness.captures.torch.columns import (
    Codes,
    Strings,
    UnsoundError,
    codes,
    integers,
    nanoseconds,
    threads,
)
from harness.captures.torch.events import (
    KINDS,
    LATEST_US,
    LONGEST_US,
    MIXED,
    NO_ARGS,
    TABLES,
    AnyArgs,
    Event,
    table_of,
)
from harness.evidence.tables import SCHEMAS

_PLACES = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
_COPY = re.compile(r"Memcpy ([HDAP])to([HDAP])\b")
_COPIES = frozenset(category for category, kind in KINDS.items() if kind == "copy")
_CODED = ("name", "kind", "grid", "block", "copy_kind", "inputs", "kernel", "collective")
_HOST = ("name", "start_ns", "duration_ns", "thread")
_COLUMNS = {
    "gpu_ops": SCHEMAS["gpu_ops"],
    "api_calls": (*_HOST, "correlation", "kernel"),
    "ranges": _HOST,
    "modules": _HOST,
    "frames": _HOST,
    "operators": (*_HOST, "sequence", "forward_thread", "inputs"),
}

_CUT = b"\0"
"""What no JSON text holds."""
_LONGEST_INPUTS = 2_000
_MOST_INPUTS = 6 << 20
"""Bytes of the inputs of one operator and of all that differ. Those of an operator with tensors as
arguments take 100 to 500; lists of tensors, which say no type, take more."""

_Columns = dict[str, list[Any]]


class Vocabulary:
    """The strings of a trace, by what they mean: each is kept once, under a number."""

    def __init__(self) -> None:
        self.strings = Strings()
        self.names = Codes(self.strings, lambda name: name)
        self.kinds = Codes(self.strings, KINDS.get)
        self.shapes = Codes(self.strings, _shape)
        self.copies = Codes(self.strings, _copy_kind)
        self.inputs = Codes(self.strings, InputTexts())


class EventBatch:
    """Values of events by table and column; ``left_out`` counts events that no table wants."""

    def __init__(self, words: Vocabulary) -> None:
        self.left_out: dict[str | None, int] = defaultdict(int)
        self._words = words
        self._tables: dict[str, _Columns] = {
            table: {name: [] for name in columns} for table, columns in _COLUMNS.items()
        }

    def add(self, events: Iterable[Event]) -> None:
        """Add the values of events, in the order of the file."""
        wanted: dict[str, list[Event]] = {table: [] for table in self._tables}
        by_category: dict[str | None, list[Event]] = defaultdict(list)
        by_category |= {category: wanted[table] for category, table in TABLES.items()}
        by_category |= {category: [] for category in MIXED}
        for event in events:
            by_category[event.cat].append(event)
        for category in MIXED:
            for event in by_category[category]:
                if (table := table_of(event)) is not None:
                    wanted[table].append(event)
                else:
                    self.left_out[category] += 1
        for unread, unread_events in by_category.items():
            if unread not in TABLES:
                self.left_out[unread] += len(unread_events)
        for table, kept in wanted.items():
            if kept:
                self._collect(table, self._tables[table], kept)

    def _collect(self, table: str, columns: _Columns, events: list[Event]) -> None:
        names = self._words.names
        columns["name"] += [names[event.name] for event in events]
        columns["start_ns"] += [event.ts for event in events]
        columns["duration_ns"] += [event.dur for event in events]
        if table == "gpu_ops":
            self._collect_gpu(columns, events)
        else:
            columns["thread"] += [event.tid for event in events]
        if table == "api_calls":
            given = [event.args or NO_ARGS for event in events]
            columns["correlation"] += [args.correlation for args in given]
            columns["kernel"] += [names[args.kernel] for args in given]
        if table == "operators":
            given = [event.args or NO_ARGS for event in events]
            columns["sequence"] += [args.sequence for args in given]
            columns["forward_thread"] += [args.forward_thread for args in given]
            inputs = self._words.inputs
            columns["inputs"] += [inputs[_inputs(args)] for args in given]

    def _collect_gpu(self, columns: _Columns, events: list[Event]) -> None:
        kinds, shapes, copies = self._words.kinds, self._words.shapes, self._words.copies
        given = [event.args or NO_ARGS for event in events]
        columns["kind"] += [kinds[event.cat] for event in events]
        columns["grid"] += [shapes[args.grid] for args in given]
        columns["block"] += [shapes[args.block] for args in given]
        columns["copy_kind"] += [copies[e.name] if e.cat in _COPIES else None for e in events]
        columns["device"] += [a.in_device if a.device is None else a.device for a in given]
        columns["stream"] += [args.stream for args in given]
        columns["registers"] += [args.registers for args in given]
        columns["shared_bytes"] += [args.shared_bytes for args in given]
        columns["bytes"] += [args.bytes for args in given]
        columns["correlation"] += [args.correlation for args in given]
        columns["graph_node"] += [args.graph_node for args in given]
        columns["collective"] += [self._words.names[args.collective] for args in given]

    def drop_early(self) -> dict[str, int]:
        """Drop the events that end before they start; return how many of each table they were."""
        dropped = {}
        for table, columns in self._tables.items():
            kept = [duration is None or duration >= 0 for duration in columns["duration_ns"]]
            if not all(kept):
                dropped[table] = kept.count(False)
                for name, column in columns.items():
                    columns[name] = [*compress(column, kept)]
        return dropped

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the rows by table, numbers for strings; UnsoundError or InexactError."""
        return {
            table: _frame(columns, may_lack="duration_ns" if table == "ranges" else "")
            for table, columns in self._tables.items()
        }


def _frame(columns: _Columns, may_lack: str) -> pl.DataFrame:
    """Return columns as rows; a range may never have ended."""
    made = {
        "start_ns": nanoseconds(columns["start_ns"], LATEST_US),
        "duration_ns": nanoseconds(columns["duration_ns"], LONGEST_US),
    }
    for name, values in columns.items():
        if name in _CODED:
            made[name] = codes(values)
        elif name == "thread":
            made[name] = threads(values)
        elif name not in made:
            made[name] = integers(values)
    needed = {"name", "start_ns", "duration_ns"} - {may_lack}
    if any(made[name].null_count() for name in needed):
        raise UnsoundError
    return pl.DataFrame(made)


def _inputs(args: AnyArgs) -> bytes | None:
    """Return the JSON texts of an operator's inputs, with _CUT between; None without shapes."""
    if not args.sizes:
        return None
    return _CUT.join((args.sizes, args.types, args.strides, args.values))


class InputTexts:
    """Writes inputs of operators as one JSON list: sizes, types, strides and values.

    Only as many distinct ones as _MOST_INPUTS bytes hold: those after them are not known.
    """

    def __init__(self) -> None:
        self._length = 0

    def __call__(self, texts: bytes) -> str | None:
        """Return the text of the inputs whose parts are given, None where it is too long."""
        whole = b"[" + b",".join(part or b"null" for part in texts.split(_CUT)) + b"]"
        text = msgspec.json.format(whole, indent=-1)
        if len(text) > _LONGEST_INPUTS or self._length + len(text) > _MOST_INPUTS:
            return None
        self._length += len(text)
        return text.decode("utf-8", "replace")


def _shape(shape: object) -> str | None:
    return ",".join(map(str, shape)) if isinstance(shape, tuple) else None


def _copy_kind(name: str) -> str | None:
    """Return the direction of a copy in Nsight Systems' words."""
    direction = _COPY.match(name)
    return "-to-".join(_PLACES[place] for place in direction.groups()) if direction else None
