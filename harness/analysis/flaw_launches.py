"""GPU operations with the host calls that launched them, and the launches that none belongs to."""

from dataclasses import dataclass

import polars as pl

from harness.analysis.idle import host_calls, host_state
from harness.evidence.capture import Capture
from harness.evidence.section import PART

_HOST = "HostFunc"
"""A launch of a host function runs nothing on the GPU."""
_KERNEL = "Launch.*Kernel"
_WITH_ATTRIBUTES = r"Kernel(Ex|ExC)\b"
_CAPTURE = r"Stream(Begin|End)Capture"


@dataclass(frozen=True)
class Launches:
    """``ops`` with a time: device, stream, process, kind, start_ns, duration_ns, end_ns, and more.

    ``at``, ``thread`` and ``call``: when, where and by which call an operation was launched, null
    where that is not recorded. ``grouped``: whether it may be part of a CUDA graph; ``plain``:
    whether it was launched by a call that puts it behind all that its stream holds.

    ``lost`` of ``count`` launches have no operation, although the recording went on until it would
    have run; ``place``: whether they are the first, the last, or "". ``unlaunched``: operations
    without a launch on a stream that ran launched ones before.
    """

    ops: pl.DataFrame
    count: int
    lost: int
    place: str
    unlaunched: int


def launches(capture: Capture) -> Launches:
    """Return the launches of a timeline; none where its operations are not linked to calls."""
    gpu_ops, api_calls = capture.tables["gpu_ops"], capture.tables["api_calls"]
    ops = _with_launch(gpu_ops, api_calls)
    calls = _launching(api_calls)
    if gpu_ops.height and not gpu_ops["correlation"].count():
        return Launches(ops, 0, 0, "", 0)
    calls = calls.with_columns(
        matched=pl.col("correlation").is_in(gpu_ops["correlation"].unique().implode())
    )
    calls = _without_nested(calls.filter(~_captured(calls["start_ns"], api_calls)))
    if PART in capture.conditions and calls.height:
        # What is launched late in a part runs after its end.
        middle = (calls["start_ns"][0] + calls["start_ns"][-1]) // 2
        calls = calls.filter(pl.col("start_ns") <= middle)
    called_ns = int(api_calls["start_ns"].max() or 0)  # type: ignore[arg-type]  # integers
    missing = pl.Series(~calls["matched"]) & ~_in_flight(calls, ops, called_ns)
    return Launches(
        ops, calls.height, int(missing.sum()), _place(calls["matched"], missing), _unlaunched(ops)
    )


def _with_launch(gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    first = host_state.by_correlation(api_calls).select(
        "correlation", "thread", "call", at="call_start"
    )
    timed = gpu_ops.drop_nulls(["start_ns", "duration_ns"])
    shared = pl.col("correlation").is_not_null() & pl.col("correlation").is_duplicated()
    columns = ("kind", "device", "stream", "start_ns", "duration_ns", "correlation", "graph_node")
    rows = timed.select(*columns).with_columns(
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        process=pl.col("correlation").fill_null(0) // (1 << 32),
        grouped=shared | pl.col("graph_node").is_not_null(),
    )
    rows = rows.join(first, on="correlation", how="left", maintain_order="left")
    calls = rows["call"]
    return rows.with_columns(
        grouped=pl.col("grouped") | named(calls, host_calls.GRAPH),
        plain=named(calls, _KERNEL) & ~named(calls, _WITH_ATTRIBUTES),
    )


def named(names: pl.Series, pattern: str) -> pl.Series:
    """Return which of these names a pattern is found in; of a null it is not.

    It is looked for in each different name, which are few.
    """
    different = names.unique()
    found = different.filter(different.cast(pl.String).str.contains(pattern))
    return names.is_in(found.implode()).fill_null(value=False)


def _launching(api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that launch kernels and graphs, by start: thread, start_ns, end_ns, ….

    A host call of other devices than NVIDIA's and AMD's has other names, and is none of them.
    """
    names = api_calls["name"]
    kinds = host_calls.kinds(names).cast(pl.String).fill_null("")
    launching = (kinds == host_calls.LAUNCH) & ~named(names, _HOST)
    rows = api_calls.filter(launching).drop_nulls(["correlation", "start_ns"])
    end = pl.col("start_ns") + pl.col("duration_ns").fill_null(0)
    return rows.select("correlation", "thread", "start_ns", end_ns=end).sort("start_ns")


def _captured(starts: pl.Series, api_calls: pl.DataFrame) -> pl.Series:
    """Return whether a CUDA graph was captured at each of these times: then nothing runs."""
    timed = api_calls.drop_nulls("start_ns")
    marks = timed.filter(named(timed["name"], _CAPTURE)).sort("start_ns")
    step = pl.when(pl.col("name").cast(pl.String).str.contains("Begin")).then(1).otherwise(-1)
    depth = marks.select("start_ns", depth=step.cum_sum())
    least = min(0, int(depth["depth"].min() or 0))  # type: ignore[arg-type]  # recording began inside of a capture
    places = starts.to_frame("start_ns")
    seen = places.join_asof(depth, on="start_ns", check_sortedness=False)["depth"].fill_null(0)
    return seen - least > 0


def _without_nested(calls: pl.DataFrame) -> pl.DataFrame:
    """Return launches without those that have no operation because a call within them has it.

    A call of the runtime may be recorded with the driver's call that it makes.
    """
    begun = pl.col("end_ns").cum_max().shift(1).over("thread", order_by="start_ns")
    following = pl.col("start_ns").shift(-1).over("thread", order_by="start_ns")
    nested = (begun > pl.col("start_ns")) | (following < pl.col("end_ns"))
    return calls.filter(pl.col("matched") | ~nested.fill_null(value=False))


def _in_flight(calls: pl.DataFrame, ops: pl.DataFrame, called_ns: int) -> pl.Series:
    """Return whether a launch may still have waited for its turn as the recording ended.

    It is behind all launches of its thread that have an operation, and the GPU was not done then:
    unless the last call of all, at ``called_ns``, came later after the last operation than any
    operation takes. Where a recording ends without a wait, a few launches are on their way.
    """
    last = pl.col("start_ns").filter("matched").max().over("thread")
    behind = calls.select((pl.col("start_ns") > last).fill_null(value=False)).to_series()
    until = int(ops["end_ns"].max() or 0)  # type: ignore[arg-type]  # integers
    went_on = called_ns - until > int(ops["duration_ns"].max() or 0)  # type: ignore[arg-type]  # integers
    waiting = behind & (calls["start_ns"] < (0 if went_on else until))
    few = int((behind & ~waiting).sum()) <= max(1, calls.height * _FEW)
    return behind if few else waiting


_FEW = 0.01
"""Of the launches: as few, and one at least, may be on their way as the recording ends."""


def _place(matched: pl.Series, missing: pl.Series) -> str:
    """Return whether all missing launches stand before, or behind, all that have an operation."""
    if not missing.any() or not matched.any():
        return ""
    first, last = (matched.arg_true()[at] for at in (0, -1))
    places = missing.arg_true()
    if places[-1] < first:
        return "first"
    return "last" if places[0] > last else ""


def _unlaunched(ops: pl.DataFrame) -> int:
    """Return how many operations lack a launch, but those that began ahead of a stream's first.

    These were launched before the recording began.
    """
    if not ops["at"].count():
        return 0
    first = pl.col("start_ns").filter(pl.col("at").is_not_null()).min().over("device", "stream")
    late = pl.col("at").is_null() & (pl.col("start_ns") >= first.fill_null(ops["start_ns"].min()))
    return ops.filter(late).height
