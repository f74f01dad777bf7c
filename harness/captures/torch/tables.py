"""The events of a torch.profiler trace as tables of evidence."""

import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from harness.captures.formats.json_stream import Piece
from harness.captures.torch.events import (
    EXACT_DECODER,
    LATEST_US,
    LONGEST_US,
    TABLES,
    Event,
    GpuArgs,
    first_fault,
)
from harness.errors import CaptureError
from harness.evidence.tables import SCHEMAS, Tables, frame

_KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "memset"}
_PLACES = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
_COPY = re.compile(r"Memcpy ([HDAP])to([HDAP])\b")
_NO_ARGS = GpuArgs()
_EXACT_US = 2.0**43
"""Below it floats are less than 1 ns apart, so one stands for at most one count of nanoseconds."""
_HALF = Decimal("0.5")
_JOINED = 16
"""Pieces whose rows become one frame: a frame of few rows takes several times their size."""
_MOST_ROWS = 1 << 24
_MOST_STRINGS = 1 << 20
_MOST_TEXT = 64 << 20
"""Bounds on rows, on distinct strings and on their length, as a few MB of gzip can stand for GB.
Real traces have 340 bytes and more a row, so one of 5 GB keeps within them."""
_SHORTER = "record fewer steps"
_NO_EVENTS = (
    "did anything run while it was recorded? Kineto before April 2022, pytorch/kineto#593, "
    "wrote other categories"
)
_LONGEST_SUM_NS = 2.0**63


class _InexactError(Exception):
    """A float among the times may stand for more than one count of nanoseconds."""


class _UnsoundError(Exception):
    """A name or a time is missing, or a time is impossible."""


class _Strings(list[str]):
    """Distinct strings, of a bounded number and length."""

    def __init__(self) -> None:
        super().__init__()
        self._length = 0

    def add(self, text: str) -> int:
        """Return the number that ``text`` gets."""
        self._length += len(text)
        if len(self) >= _MOST_STRINGS or self._length > _MOST_TEXT:
            raise CaptureError(
                f"more than {_MOST_STRINGS} distinct names and shapes, or {_MOST_TEXT >> 20} MB",
                remedy=_SHORTER,
            )
        self.append(text)
        return len(self) - 1


class _Codes(dict[Hashable, int | None]):
    """A key's number in a growing list of strings; None for a key that has no text."""

    def __init__(self, strings: _Strings, text: Callable[[Any], str | None]) -> None:
        super().__init__({None: None})
        self._strings, self._text = strings, text

    def __missing__(self, key: Hashable) -> int | None:
        text = self._text(key)
        if text is None:
            return None  # and not kept: nothing would bound such keys
        number = self[key] = self._strings.add(text)
        return number


class TableBuilder:
    """Collects the rows of one trace: numbers in columns, each distinct string once."""

    def __init__(self) -> None:
        self._strings = _Strings()
        self._names = _Codes(self._strings, lambda name: name)
        self._kinds = _Codes(self._strings, _KINDS.get)
        self._shapes = _Codes(self._strings, _shape)
        self._copies = _Codes(self._strings, _copy_kind)
        self._frames: dict[str, list[pl.DataFrame]] = {table: [] for table in TABLES.values()}
        self._pieces = self._rows_held = 0

    def add(self, piece: Piece[Event]) -> None:
        """Add the rows that a piece of the trace's events holds."""
        try:
            frames = self._convert(piece)
        except _InexactError:
            frames = self._convert(EXACT_DECODER.decode(piece.text, piece.offset))
        for table, rows in frames.items():
            self._frames[table].append(rows)
            self._rows_held += rows.height
        if self._rows_held > _MOST_ROWS:
            raise CaptureError(f"more than {_MOST_ROWS} events to keep", remedy=_SHORTER)
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
        by_name = _by_name(operators, gpu.select("external", "duration_ns"))
        return {
            "gpu_ops": self._frame("gpu_ops", gpu),
            "api_calls": self._frame("api_calls", calls),
            "ranges": self._frame("ranges", ranges),
            "operators": self._frame("operators", by_name),
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
        wanted: dict[str | None, list[Event]] = {table: [] for table in self._frames}
        keep: Any = {category: wanted[table].append for category, table in TABLES.items()}.get
        for event in piece.items:
            if (append := keep(event.cat)) is not None:
                append(event)
        try:
            return {str(table): self._rows(str(table), events) for table, events in wanted.items()}
        except _UnsoundError:
            raise first_fault(piece) from None

    def _rows(self, table: str, events: list[Event]) -> pl.DataFrame:
        """Return the columns that ``table`` needs of its events, with numbers for strings."""
        names = self._names
        columns = {
            "name": _codes([names[event.name] for event in events]),
            "start_ns": _nanoseconds([event.ts for event in events], LATEST_US),
            "duration_ns": _nanoseconds([event.dur for event in events], LONGEST_US),
        }
        may_lack = "duration_ns" if table == "ranges" else None  # a range may never have ended
        if any(column.null_count() for key, column in columns.items() if key != may_lack):
            raise _UnsoundError
        arguments = [event.args or _NO_ARGS for event in events]
        if table == "gpu_ops":
            columns |= self._gpu_columns(events, arguments)
        if table in ("api_calls", "ranges"):
            threads = [event.tid if type(event.tid) is int else None for event in events]
            columns["thread"] = _integers(threads)
        if table in ("gpu_ops", "operators"):
            columns["external"] = _integers([given.external for given in arguments])
        if table in ("gpu_ops", "api_calls"):
            columns["correlation"] = _integers([given.correlation for given in arguments])
        return pl.DataFrame(columns)

    def _gpu_columns(self, events: list[Event], arguments: list[GpuArgs]) -> dict[str, pl.Series]:
        kinds, shapes, copies = self._kinds, self._shapes, self._copies
        devices = [a.in_device if a.device is None else a.device for a in arguments]
        directions = [copies[e.name] if e.cat == "gpu_memcpy" else None for e in events]
        return {
            "kind": _codes([kinds[event.cat] for event in events]),
            "grid": _codes([shapes[given.grid] for given in arguments]),
            "block": _codes([shapes[given.block] for given in arguments]),
            "copy_kind": _codes(directions),
            "device": _integers(devices),
            "stream": _integers([given.stream for given in arguments]),
            "registers": _integers([given.registers for given in arguments]),
            "shared_bytes": _integers([given.shared_bytes for given in arguments]),
            "bytes": _integers([given.bytes for given in arguments]),
            "graph_node": _integers([given.graph_node for given in arguments]),
        }


def _codes(values: list[int | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.UInt32)


def _integers(values: Sequence[int | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64)


def _nanoseconds(us: Sequence[float | Decimal | None], most: float) -> pl.Series:
    """Return microseconds as the nearest whole nanoseconds, exactly for Kineto's three decimals.

    Raises _UnsoundError for a value below 0 or above ``most``, _InexactError for floats from
    _EXACT_US on.
    """
    exact = isinstance(next((value for value in us if value is not None), None), Decimal)
    floats = [None if value is None else float(value) for value in us] if exact else us
    values = pl.Series(floats, dtype=pl.Float64)
    least: Any = values.min()
    longest: Any = values.max()
    if least is None:
        return values.cast(pl.Int64)
    if least < 0 or longest > most:
        raise _UnsoundError
    if exact:
        return _integers([None if v is None else int(Decimal(v) * 1000 + _HALF) for v in us])
    if longest >= _EXACT_US:
        if any(type(value) is float for value in us):
            raise _InexactError
        return pl.Series(us, dtype=pl.Int64) * 1000
    whole = values.cast(pl.Int64)
    return whole * 1000 + ((values - whole) * 1000 + 0.5).cast(pl.Int64)


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


def _by_name(operators: pl.DataFrame, gpu: pl.DataFrame) -> pl.DataFrame:
    """Return name, count, total_ns and device_ns of the operators, each name once.

    An operator's GPU operations are those with its External id. Their time is null where
    they are ambiguous: an operator has no id or shares it with another, or no GPU operation of the
    trace has an id.
    """
    owners = operators.select("name", "external").sort("external")
    same = pl.col("external") == pl.col("external").shift(1)
    unclear = owners.filter(pl.col("external").is_null() | same | same.shift(-1))["name"].unique()
    linked = gpu.drop_nulls("external").sort("external")
    launched = (
        linked.join_asof(owners.drop_nulls(), on="external", tolerance=0)  # takes less than a join
        .group_by("name")
        .agg(pl.col("duration_ns").sum())
    )
    clear = ~pl.col("name").is_in(unclear.implode()) & (linked.height > 0)
    return (
        operators.group_by("name", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total_ns"))
        .join(launched, on="name", how="left", maintain_order="left")
        .with_columns(pl.when(clear).then(pl.col("duration_ns").fill_null(0)).alias("device_ns"))
    )
