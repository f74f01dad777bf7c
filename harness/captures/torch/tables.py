"""The events of a torch.profiler trace as tables of evidence."""

import re
from collections import defaultdict
from typing import Any

import polars as pl

from harness.captures.formats.json_stream import Piece
from harness.captures.torch.columns import (
    SHORTER,
    Codes,
    InexactError,
    Strings,
    UnsoundError,
    codes,
    integers,
    nanoseconds,
    threads,
)
from harness.captures.torch.events import (
    EXACT_DECODER,
    KINDS,
    LATEST_US,
    LONGEST_US,
    MIXED,
    NO_ARGS,
    TABLES,
    AnyArgs,
    Event,
    first_fault,
    table_of,
)
from harness.captures.torch.metadata import is_plain
from harness.captures.torch.operators import by_name
from harness.errors import CaptureError
from harness.evidence.tables import SCHEMAS, Tables, frame

_PLACES = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
_COPY = re.compile(r"Memcpy ([HDAP])to([HDAP])\b")
_JOINED = 16
"""Pieces whose rows become one frame: a frame of few rows takes several times their size."""
_MOST_ROWS = 1 << 24
"""Real traces have 340 bytes and more a row, so one of 5 GB keeps within it."""
_NO_EVENTS = "did anything run while it was recorded?"
_LONGEST_SUM_NS = 2.0**63
_UNNAMED, _OTHERS = "events without a category", "other categories"
_MOST_CATEGORIES = 50


class TableBuilder:
    """Collects the rows of one trace: numbers in columns, each distinct string once.

    ``not_read`` counts the events of each category that no table holds.
    """

    def __init__(self) -> None:
        self.not_read: dict[str, int] = defaultdict(int)
        self._strings = Strings()
        self._names = Codes(self._strings, lambda name: name)
        self._kinds = Codes(self._strings, KINDS.get)
        self._shapes = Codes(self._strings, _shape)
        self._copies = Codes(self._strings, _copy_kind)
        self._frames: dict[str, list[pl.DataFrame]] = {table: [] for table in TABLES.values()}
        self._pieces = self._rows_held = 0

    def add(self, piece: Piece[Event]) -> None:
        """Add the rows that a piece of the trace's events holds."""
        try:
            frames = self._convert(piece)
        except InexactError:
            frames = self._convert(EXACT_DECODER.decode(piece.text, piece.offset))
        for table, rows in frames.items():
            self._frames[table].append(rows)
            self._rows_held += rows.height
        if self._rows_held > _MOST_ROWS:
            raise CaptureError(f"more than {_MOST_ROWS} events to keep", remedy=SHORTER)
        self._pieces += 1
        if self._pieces % _JOINED == 0:
            for parts in self._frames.values():
                parts[-_JOINED:] = [pl.concat(parts[-_JOINED:], rechunk=True)]

    def tables(self) -> Tables:
        """Return the tables of all that was added."""
        if not self._rows_held:
            raise CaptureError("no events of torch.profiler in it", remedy=_NO_EVENTS)
        gpu, calls, ranges, operators = (
            pl.concat(self._frames.pop(table))
            for table in ("gpu_ops", "api_calls", "ranges", "operators")
        )
        for rows in (gpu, calls, ranges, operators):
            _check_sum(rows["duration_ns"])
        # CUPTI gives 0 for the start and the end of an operation that it could not time.
        timed = (pl.col("start_ns") > 0) | (pl.col("duration_ns") > 0)
        gpu = gpu.with_columns(pl.when(timed).then(pl.col("start_ns", "duration_ns")))
        tables = {"gpu_ops": gpu, "api_calls": calls, "ranges": ranges}
        named = by_name(operators, calls, gpu, self._strings)
        return {name: self._frame(name, rows) for name, rows in tables.items()} | {
            "operators": named
        }

    def _frame(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows as evidence, with strings for their numbers."""
        strings = pl.Series(self._strings, dtype=pl.String).cast(pl.Categorical)
        columns = {
            name: rows[name] if kind == "int" else strings.gather(rows[name])
            for name, kind in SCHEMAS[table].items()
            if name in rows.columns
        }
        return frame(table, columns)

    def _convert(self, piece: Piece[Event]) -> dict[str, pl.DataFrame]:
        """Return the rows of each table, in the order of the file."""
        wanted: dict[str, list[Event]] = {table: [] for table in self._frames}
        by_category: dict[str | None, list[Event]] = defaultdict(list)
        by_category |= {category: wanted[table] for category, table in TABLES.items()}
        for category in MIXED:
            by_category[category] = []
        for event in piece.items:
            by_category[event.cat].append(event)
        counts = {key: len(found) for key, found in by_category.items() if key not in TABLES}
        for category in MIXED:
            for event in by_category[category]:
                if (kept := table_of(event)) is not None:
                    wanted[kept].append(event)
                else:
                    counts[category] = counts.get(category, 0) + 1
        try:
            rows = {table: self._rows(table, events) for table, events in wanted.items()}
        except UnsoundError:
            raise first_fault(piece) from None
        for unread, count in counts.items():
            self._leave_out(unread or _UNNAMED, count)
        return rows

    def _leave_out(self, category: str, count: int) -> None:
        full = category not in self.not_read and len(self.not_read) >= _MOST_CATEGORIES
        self.not_read[_OTHERS if full or not is_plain(category) else category] += count

    def _rows(self, table: str, events: list[Event]) -> pl.DataFrame:
        """Return the columns that ``table`` needs of its events, with numbers for strings."""
        names = self._names
        columns = {
            "name": codes([names[event.name] for event in events]),
            "start_ns": nanoseconds([event.ts for event in events], LATEST_US),
            "duration_ns": nanoseconds([event.dur for event in events], LONGEST_US),
        }
        may_lack = "duration_ns" if table == "ranges" else None  # a range may never have ended
        if any(column.null_count() for key, column in columns.items() if key != may_lack):
            raise UnsoundError
        if table == "gpu_ops":
            columns |= self._gpu_columns(events, [event.args or NO_ARGS for event in events])
        else:
            columns["thread"] = threads(events)
        if table == "api_calls":
            given = [event.args or NO_ARGS for event in events]
            columns["correlation"] = integers([args.correlation for args in given])
        return pl.DataFrame(columns)

    def _gpu_columns(self, events: list[Event], arguments: list[AnyArgs]) -> dict[str, pl.Series]:
        kinds, shapes, copies = self._kinds, self._shapes, self._copies
        devices = [a.in_device if a.device is None else a.device for a in arguments]
        is_copy = {category for category, kind in KINDS.items() if kind == "copy"}
        directions = [copies[e.name] if e.cat in is_copy else None for e in events]
        return {
            "kind": codes([kinds[event.cat] for event in events]),
            "grid": codes([shapes[given.grid] for given in arguments]),
            "block": codes([shapes[given.block] for given in arguments]),
            "copy_kind": codes(directions),
            "device": integers(devices),
            "stream": integers([given.stream for given in arguments]),
            "registers": integers([given.registers for given in arguments]),
            "shared_bytes": integers([given.shared_bytes for given in arguments]),
            "bytes": integers([given.bytes for given in arguments]),
            "correlation": integers([given.correlation for given in arguments]),
            "graph_node": integers([given.graph_node for given in arguments]),
        }


def _check_sum(durations: pl.Series) -> None:
    """Refuse durations whose sum, here and after, would not fit 64 bits; polars would wrap."""
    mean: Any = durations.mean()
    if mean is not None and mean * len(durations) >= _LONGEST_SUM_NS:
        raise CaptureError("impossible durations: they add up to more than 292 years")


def _shape(shape: object) -> str | None:
    return ",".join(map(str, shape)) if isinstance(shape, tuple) else None


def _copy_kind(name: str) -> str | None:
    """Return the direction of a copy in Nsight Systems' words."""
    direction = _COPY.match(name)
    return "-to-".join(_PLACES[place] for place in direction.groups()) if direction else None
