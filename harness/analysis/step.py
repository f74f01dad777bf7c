"""Which operations of a timeline are one step, a repetition of the measured work, and by what rule.

The first of these rules that a timeline satisfies:

1. declared: ranges of a workload of the harness (``step:…``), or of another name that is given
2. profiler: ``ProfilerStep#…``, which torch.profiler marks
3. engine: annotations in which a serving engine says its batch (harness.analysis.annotations)
4. ranges: those that repeat, numbered or of one name, inside of no other such range; of several
   names, the one in which the host launched most, if that is over half of the GPU's time
5. period: operations whose names follow each other in the same order again and again
6. whole: all after the warm-up, which is the whole capture where a program does not warm up

Declared steps are apart: each lasts from its first operation to the end of its last, as the
recording waits for the device after it. Any other step lasts until the next one begins, since what
a program does between two ranges is its own; and steps in which it still warms up do not count.
Of processes that follow one another (harness.analysis.processes) each has steps of its own, and
what lies between them does not count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import polars as pl

from harness.analysis import (
    annotations,
    intervals,
    launches,
    period,
    processes,
    repeats,
    timeline,
    warm_up,
)
from harness.analysis.busy import WHOLE, Busy
from harness.evidence.tables import Tables

Rule = Literal["declared", "profiler", "engine", "ranges", "period", "whole"]

PREFIX = "step:"
"""How the names of the probe's ranges around measured steps begin."""
PROFILER = "ProfilerStep#"
"""How torch.profiler begins the name of a step's range; a number follows."""
ENGINE = "engine step"
"""What the ranges are called in which a serving engine says its batch, whichever it was."""
AND = ", "
"""What joins the names of the ranges of several measured steps."""

_WARM = "all after the warm-up"
_DECLARED = "declared "
_MOST = 0.5
"""Of the GPU's time: ranges of one name that hold more are its steps, others are parts of them."""
_SUMMED = ("busy_ns", "span_ns", "whole_busy_ns", "whole_span_ns", "gpus")


@dataclass(frozen=True)
class Step:
    """The steps of one timeline; times are ns.

    ``what`` each of them is, in words; ``count`` of the ``recorded`` ones are meant. ``ranges``:
    the name of the ranges that mark them, "" where none do. ``ops``: their operations on all
    devices, with the columns of gpu_ops and ``step`` (0, 1, …), but those without a time.
    ``turns``: of processes that follow one another, start and end of what counts of each.
    """

    rule: Rule
    what: str
    ops: pl.DataFrame
    ranges: str = ""
    count: int = 1
    recorded: int = 1
    turns: tuple[tuple[int, int], ...] = ()

    @property
    def of(self) -> str:
        """Return the number of steps and the rule that found them: "8 × ProfilerStep#"."""
        if self.rule == "whole":
            return self.what
        some = "" if self.count == self.recorded else f" of {self.recorded}"
        return f"{self.count}{some} × {self.what}"

    @property
    def is_apart(self) -> bool:
        """Return whether each step begins on an idle device, and ends before the next begins."""
        return self.rule == "declared"

    @cached_property
    def stretches(self) -> pl.DataFrame:
        """Return start_ns and end_ns of the time that counts: of each step apart, or of all."""
        if self.turns:
            columns = {"start_ns": pl.Int64, "end_ns": pl.Int64}
            return pl.DataFrame(self.turns, schema=columns, orient="row")
        if self.is_apart or self.ops.is_empty():
            return windows(self.ops, apart=True).select("start_ns", "end_ns")
        return _extent(self.ops).select(pl.col("start_ns").min(), pl.col("end_ns").max())


class _Marking(NamedTuple):
    """Ranges that may mark steps: ``spans`` of harness.analysis.timeline.steps."""

    rule: Rule
    ranges: str
    what: str
    spans: pl.DataFrame


def declared(tables: Tables) -> str | None:
    """Return the name of the measured steps' ranges, as the workload declared it."""
    names = tables["facts"].filter(pl.col("name").str.starts_with(_DECLARED))["name"].to_list()
    return names[0].removeprefix(_DECLARED) if names else None


def of(tables: Tables, name: str | None = None) -> Step:
    """Return the steps of a timeline; ``name``: of the ranges that mark them, as the user says.

    ``tables`` needs gpu_ops, api_calls, ranges and autograd_threads.
    """
    ops = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    for rule, ranges, what, spans in _markings(ops, tables, name):
        placed = _placed(ops, tables, spans)
        if placed.is_empty():
            continue
        if rule == "declared":
            return Step(rule, what, placed, ranges, spans.height, spans.height)
        parts = [(each["gpu_ops"], each) for each in processes.in_turn(tables, placed)]
        if rule != "profiler":
            parts = [(_without_warm_up(rows, each["api_calls"]), each) for rows, each in parts]
        kept = pl.concat([rows for rows, _ in parts])
        numbered = kept.with_columns((pl.col("step").rank("dense") - 1).cast(pl.Int64))
        steps = Step(rule, what, numbered, ranges, kept["step"].n_unique(), spans.height)
        return replace(steps, turns=_turns([rows for rows, _ in parts]))
    several = processes.in_turn(tables, ops)
    if len(several) > 1:
        return _in_turn([of(each) for each in several])
    warm = warm_up.after(ops, tables["api_calls"])
    if (repeated := period.find(warm)) is not None:
        count = repeated.count
        return Step("period", repeated.text, repeated.ops, count=count, recorded=count)
    return whole(warm, WHOLE if warm.height == ops.height else _WARM)


def _in_turn(parts: Sequence[Step]) -> Step:
    """Return the steps of processes that follow one another as one step."""
    ops = [each.ops for each in parts]
    what = f"{len(parts)} processes in turn ({AND.join(each.of for each in parts)})"
    return replace(whole(pl.concat(ops), what), turns=_turns(ops))


def _turns(ops: Sequence[pl.DataFrame]) -> tuple[tuple[int, int], ...]:
    """Return start and end of the operations of each of several processes; nothing of one."""
    spans = [row for each in ops for row in _extent(each).select("start_ns", "end_ns").iter_rows()]
    return tuple(spans) if len(ops) > 1 else ()


def whole(ops: pl.DataFrame, what: str = WHOLE) -> Step:
    """Return operations as one step."""
    return Step("whole", what, ops.with_columns(step=pl.lit(0, pl.Int64)))


def busy(tables: Tables, steps: Step | None = None) -> Busy | None:
    """Return how busy the GPUs of one capture were, summed over them; None without timed work.

    On each GPU a step, or all of them where they are not apart, lasts from the first operation to
    the end of the last. ``steps``: what :func:`of` returns for ``tables``, if it is known.
    """
    ops = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    if ops.is_empty():
        return None
    steps = steps or of(tables)
    turns = steps.stretches.iter_slices(1) if steps.turns else ()
    parts = [intervals.inside(steps.ops, turn) for turn in turns] or [steps.ops]
    sums = [
        sum(column)
        for rows, apart in ((parts, steps.is_apart), ([ops], False))
        for column in zip(
            *(_spent(each, apart=apart) for part in rows for each in part.partition_by("device")),
            strict=True,
        )
    ]
    count = None if steps.rule == "whole" else steps.count
    busy_ns, span_ns, whole_busy_ns, whole_span_ns = sums
    gpus = steps.ops["device"].n_unique()
    return Busy(steps.of, busy_ns, span_ns, whole_busy_ns, whole_span_ns, gpus, count)


def together(parts: Sequence[Busy]) -> Busy | None:
    """Return how busy the GPUs of several captures were; None of none."""
    if not parts:
        return None
    of_each = ", ".join(dict.fromkeys(each.of for each in parts))
    counts = {(each.of, each.steps) for each in parts}
    sums = {name: sum(getattr(each, name) for each in parts) for name in _SUMMED}
    return Busy(of_each, **sums, steps=counts.pop()[1] if len(counts) == 1 else None)


def windows(ops: pl.DataFrame, *, apart: bool) -> pl.DataFrame:
    """Return step, start_ns and end_ns of the steps of operations, by start.

    A step ends with its last operation; if they are not apart, no earlier than the next one begins.
    """
    rows = _extent(ops, "step").sort("start_ns", "step")
    if apart:
        return rows
    return rows.with_columns(pl.max_horizontal("end_ns", pl.col("start_ns").shift(-1)))


def unnumbered(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return ranges with torch's numbered steps under one name, and engines' steps under ENGINE."""
    rows = ranges.with_columns(pl.col("name").cast(pl.String))
    batches = annotations.batches(rows["name"])
    named = pl.when(pl.col("name").is_in(list(batches))).then(pl.lit(ENGINE)).otherwise("name")
    return rows.with_columns(name=named.str.replace(r"^(ProfilerStep)#\d+$", "$1"))


def _extent(ops: pl.DataFrame, *by: str) -> pl.DataFrame:
    end = pl.col("start_ns") + pl.col("duration_ns")
    return ops.group_by(*by or [pl.lit(0)]).agg(pl.col("start_ns").min(), end_ns=end.max())


def _spent(ops: pl.DataFrame, *, apart: bool) -> tuple[int, int]:
    """Return how long operations of one device ran, and how long their steps last, in ns."""
    ended = ops.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    return intervals.covered(ended), intervals.length(_extent(ops, *["step"] * apart))


def _markings(ops: pl.DataFrame, tables: Tables, name: str | None) -> Iterator[_Marking]:
    """Yield the ranges that may mark steps, those of the first rule first."""
    ranges = unnumbered(tables["ranges"])
    if name is not None and name != PROFILER[:-1]:
        its = tables["ranges"] if annotations.batch(name) else ranges
        yield _Marking("declared", name, name, timeline.steps(its, name))
    names = ranges["name"].drop_nulls().unique()
    ours = sorted(each for each in names if each.startswith(PREFIX) and name is None)
    if ours:
        as_one = AND.join(ours)
        called = pl.when(pl.col("name").is_in(ours)).then(pl.lit(as_one)).otherwise("name")
        yield _Marking(
            "declared", as_one, as_one, timeline.steps(ranges.with_columns(name=called), as_one)
        )
    torchs = timeline.steps(ranges, PROFILER[:-1])
    if torchs.height:
        yield _Marking("profiler", PROFILER[:-1], PROFILER, _until_next(torchs))
    engines = timeline.steps(ranges, ENGINE)
    if engines.height:
        yield _Marking("engine", ENGINE, ENGINE, _until_next(engines))
    repeating = _repeating(ops, tables)
    if repeating is not None:
        yield repeating


def _until_next(spans: pl.DataFrame) -> pl.DataFrame:
    """Return spans that last until the next one of their thread begins."""
    begins = pl.col("start_ns").shift(-1).over("thread", order_by="start_ns")
    return spans.with_columns(end_ns=pl.coalesce(begins, "end_ns"))


def _repeating(ops: pl.DataFrame, tables: Tables) -> _Marking | None:
    """Return the ranges of one name or series that hold most of the GPU's time, None without."""
    ranges = repeats.with_series(tables["ranges"]).drop_nulls()
    ranges = ranges.filter(~pl.col("name").str.contains(repeats.OPERATOR))
    end = pl.col("start_ns") + pl.col("duration_ns")
    often = pl.len().over("name") >= repeats.LEAST
    rows = ranges.select("name", "thread", "start_ns", end_ns=end).filter(often)
    rows = rows.sort("thread", "start_ns", "end_ns", descending=[False, False, True])
    reach = pl.col("end_ns").cum_max().shift(1).over("thread")
    outer = rows.filter((pl.col("start_ns") >= reach).fill_null(value=True)).filter(often)
    calls = tables["api_calls"].drop_nulls(["correlation", "thread", "start_ns"])
    inside = (
        calls.select("correlation", "thread", "start_ns")
        .sort("start_ns")
        .join_asof(outer.sort("start_ns"), on="start_ns", by="thread", check_sortedness=False)
        .filter(pl.col("start_ns") < pl.col("end_ns"))
        .unique("correlation", keep="first", maintain_order=True)
    )
    by_name = ops.join(inside.select("correlation", by="name"), on="correlation").group_by("by")
    most = by_name.agg(pl.col("duration_ns").sum()).sort("duration_ns", "by", descending=True)
    if most.is_empty():
        return None
    name = most["by"][0]
    spans = timeline.steps(ranges, name)
    held = _placed(ops, tables, spans)["duration_ns"].sum()
    if spans.height < repeats.LEAST or held <= _MOST * int(ops["duration_ns"].sum()):
        return None
    is_series = name not in tables["ranges"]["name"].cast(pl.String)
    what = repeats.without_number(name) if is_series else name
    return _Marking("ranges", name, what, _until_next(spans))


def _placed(ops: pl.DataFrame, tables: Tables, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the operations that were launched in steps, with ``step``.

    Where one thread marks the steps, the launches of all threads count: autograd launches the
    backward pass from its own, and another rank its part. An operation without a known launch
    belongs to the step whose first operation began last before it. Where several threads mark
    steps, each has those of its own.
    """
    if spans["thread"].n_unique() > 1:
        calls = launches.owners(tables["api_calls"], spans, tables["autograd_threads"]).calls
        return ops.join(calls, on="correlation", how="inner", maintain_order="left")
    first = (
        tables["api_calls"]
        .drop_nulls(["correlation", "start_ns"])
        .group_by("correlation")
        .agg(at=pl.col("start_ns").min())
        .sort("at")
        .join_asof(spans.select("step", "end_ns", at="start_ns"), on="at", check_sortedness=False)
    )
    launched = ops.join(
        first.select("correlation", "step", inside=pl.col("at") < pl.col("end_ns")),
        on="correlation",
        how="left",
        maintain_order="left",
    )
    within = launched.filter("inside").drop("inside")
    # Of each device by itself: one that works in no step has no part in them.
    of_device = pl.col("device").fill_null(-1).alias("of_device")
    begun = within.group_by("step", of_device).agg(pl.col("start_ns").min()).sort("start_ns")
    is_stray = ~pl.col("correlation").is_in(first["correlation"].implode())
    strays = ops.filter(is_stray.fill_null(value=True)).with_columns(of_device).sort("start_ns")
    by_time = strays.join_asof(begun, on="start_ns", by="of_device", check_sortedness=False)
    return pl.concat([within, by_time.drop_nulls("step").select(within.columns)])


def _without_warm_up(placed: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the operations of the steps that begin after the warm-up, if any do."""
    warm = warm_up.after(placed, api_calls)["start_ns"].min()
    begun = placed.with_columns(begun=pl.col("start_ns").min().over("step"))
    kept = begun.filter(pl.col("begun") >= warm).drop("begun")
    return kept if kept.height else placed
