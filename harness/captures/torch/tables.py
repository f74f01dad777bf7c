"""The events of a torch.profiler trace as tables of evidence."""

from collections import defaultdict
from typing import Any

import polars as pl

from harness.captures.formats.json_stream import Piece
from harness.captures.torch.batch import EventBatch, Vocabulary
from harness.captures.torch.captured import captured_launches
from harness.captures.torch.columns import SHORTER, InexactError, UnsoundError
from harness.captures.torch.compilation import compilation
from harness.captures.torch.cpu_operators import on_cpu
from harness.captures.torch.events import EXACT_DECODER, TABLES, Event, first_fault
from harness.captures.torch.first_calls import first_calls
from harness.captures.torch.frames import own_frames
from harness.captures.torch.launches import innermost, launches
from harness.captures.torch.metadata import is_plain
from harness.captures.torch.origins import HostActivity, backward_names, origins
from harness.evidence.tables import SCHEMAS, Tables, frame
from harness.ground.errors import CaptureError

_BATCH = 4 << 20
"""Bytes of the trace whose rows are made at once."""
_JOINED = 8
"""Batches whose rows become one frame: a frame of few rows takes several times their size."""
_MOST_ROWS = 1 << 24
"""Real traces have 340 bytes and more a row, so one of 5 GB keeps within it."""
_NO_EVENTS = "did anything run while it was recorded?"
_LONGEST_SUM_NS = 2.0**63
_UNNAMED, _OTHERS = "events without a category", "other categories"
_MOST_CATEGORIES = 50


class TableBuilder:
    """Collects the rows of one trace: numbers in columns, each distinct string once.

    ``not_read`` counts the events of each category that no table holds, ``early`` those of each
    table that end before they start, which are dropped.
    """

    def __init__(self) -> None:
        _keep_freed_memory()
        self.not_read: dict[str, int] = defaultdict(int)
        self.early: dict[str, int] = defaultdict(int)
        self._words = Vocabulary()
        self._batch = EventBatch(self._words)
        self._pieces: list[Piece[Event]] = []
        self._bytes = self._batches = self._rows_held = 0
        self._frames: dict[str, list[pl.DataFrame]] = {
            table: [] for table in (*TABLES.values(), "frames")
        }

    def add(self, piece: Piece[Event]) -> None:
        """Add the rows that a piece of the trace's events holds."""
        self._batch.add(piece.items)
        self._pieces.append(Piece(piece.offset, piece.text, []))
        self._bytes += len(piece.text)
        if self._bytes >= _BATCH:
            self._finish_batch()

    def _finish_batch(self) -> None:
        batch, self._batch = self._batch, EventBatch(self._words)
        pieces, self._pieces, self._bytes = self._pieces, [], 0
        try:
            try:
                frames = self._sound(batch)
            except InexactError:
                batch = EventBatch(self._words)
                for piece in pieces:
                    batch.add(EXACT_DECODER.decode(piece.text, piece.offset).items)
                frames = self._sound(batch)
        except UnsoundError:
            raise first_fault(pieces) from None
        for category, count in batch.left_out.items():
            self._leave_out(category or _UNNAMED, count)
        for table, rows in frames.items():
            self._frames[table].append(rows)
            self._rows_held += rows.height
        if self._rows_held > _MOST_ROWS:
            raise CaptureError(f"more than {_MOST_ROWS} events to keep", remedy=SHORTER)
        self._batches += 1
        if self._batches % _JOINED == 0:
            for parts in self._frames.values():
                parts[-_JOINED:] = [pl.concat(parts[-_JOINED:], rechunk=True)]

    def _sound(self, batch: EventBatch) -> dict[str, pl.DataFrame]:
        """Return the rows of a batch by table, without those that end before they start.

        Raises UnsoundError for any other fault, and InexactError.
        """
        try:
            return batch.frames()
        except UnsoundError:
            dropped = batch.drop_early()
            if not dropped:
                raise
            frames = batch.frames()
        for table, count in dropped.items():
            self.early[table] += count
        return frames

    def tables(self) -> Tables:
        """Return the tables of all that was added."""
        self._finish_batch()
        if not self._rows_held:
            raise CaptureError("no events of torch.profiler in it", remedy=_NO_EVENTS)
        gpu, calls, ranges, modules, operators, frames = (
            pl.concat(self._frames.pop(table))
            for table in ("gpu_ops", "api_calls", "ranges", "modules", "operators", "frames")
        )
        for rows in (gpu, calls, ranges, operators, frames):
            _check_sum(rows["duration_ns"])
        # CUPTI gives 0 for the start and the end of an operation that it could not time.
        timed = (pl.col("start_ns") > 0) | (pl.col("duration_ns") > 0)
        gpu = gpu.with_columns(pl.when(timed).then(pl.col("start_ns", "duration_ns")))
        phases = compilation(operators, self._words.strings).select(ranges.columns)
        first = first_calls(operators, calls, self._words.strings)
        covers = pl.concat([each.select(frames.columns) for each in (operators, modules)])
        tables = {
            "gpu_ops": gpu,
            "api_calls": calls,
            "ranges": pl.concat([ranges, phases, first.select(ranges.columns)]),
            "frames": own_frames(frames, covers, self._words.strings),
            "cpu_operators": on_cpu(operators, calls, self._words.strings),
        }
        launched = launches(calls, gpu)
        named = by_name(operators, launched, gpu, self._words.strings)
        host = HostActivity(operators, modules, ranges, self._words.strings)
        return {name: self._frame(name, rows) for name, rows in tables.items()} | {
            "operators": named,
            "autograd_threads": autograd_threads(host),
            "origins": origins(host, launched),
            "captured_launches": captured_launches(host, calls, gpu),
        }

    def _frame(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows as evidence, with strings for their numbers."""
        strings = pl.Series(self._words.strings, dtype=pl.String).cast(pl.Categorical)
        columns = {
            name: rows[name] if kind == "int" else strings.gather(rows[name])
            for name, kind in SCHEMAS[table].items()
            if name in rows.columns
        }
        return frame(table, columns)

    def _leave_out(self, category: str, count: int) -> None:
        full = category not in self.not_read and len(self.not_read) >= _MOST_CATEGORIES
        self.not_read[_OTHERS if full or not is_plain(category) else category] += count


def _keep_freed_memory() -> None:
    """Let the allocator keep what a batch frees, or the kernel clears it anew for every batch.

    glibc returns memory above a threshold, which it raises to twice the largest block that was
    mapped and freed (mallopt(3), M_MMAP_THRESHOLD); these bytes are never touched.
    """
    bytes(2 * _BATCH)


def _check_sum(durations: pl.Series) -> None:
    """Refuse durations whose sum, here and after, would not fit 64 bits; polars would wrap."""
    mean: Any = durations.mean()
    if mean is not None and mean * len(durations) >= _LONGEST_SUM_NS:
        raise CaptureError("impossible durations: they add up to more than 292 years")


def autograd_threads(host: HostActivity) -> pl.DataFrame:
    """Return the evidence's table ``autograd_threads``.

    The engine's threads run operators within autograd's nodes alone, but for nodes that began
    before the trace; a thread that calls backward() runs other operators, too, and some nodes if
    they are the CPU's. Served are the other threads that have annotations.
    """
    operators = host.operators.select("thread", "start_ns", "duration_ns", "name")
    nodes = operators.filter(pl.col("name").is_in(list(backward_names(host.names))))
    places = operators.drop_nulls("thread").select(
        "thread", at="start_ns", operator=pl.int_range(pl.len())
    )
    of_threads = places.join(nodes, on="thread", how="semi")
    inside = innermost(nodes.drop("name"), of_threads)
    counts = (
        of_threads.join(inside, on="operator", how="anti")
        .group_by("thread")
        .agg(pl.len().alias("outside"))
    )
    engine = (
        nodes.drop_nulls("thread")
        .group_by("thread")
        .agg(pl.len().alias("nodes"))
        .join(counts, on="thread", how="left")
        .filter(pl.col("outside").fill_null(0) < pl.col("nodes"))
        .select("thread")
    )
    served = host.ranges.select(serves="thread").drop_nulls().unique()
    served = served.join(engine, left_on="serves", right_on="thread", how="anti")
    pairs = engine.join(served, how="cross").sort("thread", "serves")
    return frame("autograd_threads", {key: pairs[key] for key in ("thread", "serves")})


UNATTRIBUTED = "unattributed"
"""The last row: GPU operations that no operator launched, such as the kernels of CUDA graphs."""


def by_name(
    operators: pl.DataFrame, launched: pl.DataFrame, gpu: pl.DataFrame, names: list[str]
) -> pl.DataFrame:
    """Return the table ``operators``: name, count, total_ns and device_ns, each name once.

    A GPU operation belongs to the innermost operator that ran on the launching thread as the launch
    began. GPU time is null for all operators where no GPU operation has a launch, and for a name
    that has operators without a thread. All times then sum to the GPU operations' durations.

    ``operators`` has start_ns, duration_ns and thread; ``launched`` is of
    :func:`.launches.launches`; ``name`` counts in ``names``.
    """
    owned = innermost(
        operators.select("thread", "name", "start_ns", "duration_ns"),
        launched.select("thread", "at", work_ns="duration_ns"),
    )
    by_owner = owned.group_by("name").agg(pl.col("work_ns").sum())
    unclear = operators.filter(pl.col("thread").is_null())["name"].unique()
    clear = ~pl.col("name").is_in(unclear.implode()) & (launched.height > 0)
    rows = (
        operators.group_by("name", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total_ns"))
        .join(by_owner, on="name", how="left", maintain_order="left")
        .with_columns(pl.when(clear).then(pl.col("work_ns").fill_null(0)).alias("device_ns"))
    )
    columns: dict[str, list[object]] = {
        "name": [names[number] for number in rows["name"]],
        **{key: rows[key].to_list() for key in ("count", "total_ns", "device_ns")},
    }
    if gpu.height:
        rest = gpu.height - owned.height
        for key, value in (("name", UNATTRIBUTED), ("count", rest), ("total_ns", None)):
            columns[key].append(value)
        columns["device_ns"].append(int(gpu["duration_ns"].sum()) - int(owned["work_ns"].sum()))
    return frame("operators", columns)
