"""What the launching thread waited for, by the operation that the device had just finished.

A blocking call returns when the copy behind it is done, and what that copy brings is known by the
kernel before it, whose name says what it computes.
"""

from dataclasses import dataclass

import polars as pl

from harness.analysis import copies, intervals, kernels
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import recording_cost

VALUE = 8
"""Bytes of one number, of torch's largest type."""
_LEAST_VALUES = 10
"""A step: loops read a loss, a norm and a few metrics without harm."""
_NAME = 40
_MOST = 0.5
"""Of the idle time after waits: with less, other waits cost as much or more."""


@dataclass(frozen=True)
class Awaited:
    """Results that a host waits for: how idle time after them is told, and what makes it go."""

    what: str
    title: str
    fix: tuple[str, ...]


_BY_KERNEL = (
    # aten/src/ATen/native/cuda/Nonzero.cu: the count of elements is copied to the host, which
    # allocates the result by it. torch.where(mask), tensor[mask] and masked_select call it.
    (
        r"NonZeroOp",
        Awaited(
            "of host-sync, after a count of nonzero elements "
            "(nonzero, torch.where(mask), tensor[mask])",
            "The host waits for the sizes of results that depend on data.",
            (
                for_torch(
                    "keep sizes fixed: multiply by the mask or torch.where(mask, a, b) in place of "
                    "tensor[mask], pad to a capacity"
                ),
                for_torch(
                    "where rows go to groups (experts, segments), sort them once and run one "
                    "grouped product over all groups (torch._grouped_mm) in place of a loop"
                ),
            ),
        ),
    ),
    # aten/src/ATen/native/cuda/ReduceLogicKernel.cu. Autograd's anomaly detection reads
    # isnan(gradient).any() after each node (torch/csrc/autograd/engine.cpp).
    (
        r"\b(or|and)_kernel_cuda",
        Awaited(
            "of host-sync, after any() or all() of a tensor, which the host reads",
            "The host reads back whether any value of a tensor is true, again and again.",
            (
                for_torch(
                    "turn checks for NaN off: autograd's anomaly detection "
                    "(torch.autograd.set_detect_anomaly), isnan and any after each operator"
                ),
                "make one such check per step",
            ),
        ),
    ),
)
_VALUES = Awaited(
    "of host-sync, after copies of single values to the host",
    "The host reads single values back from the GPU one by one, and waits for each.",
    (
        "compute the values of all tensors together and copy them once"
        + for_torch(" (torch._foreach_norm, then torch.stack)"),
        "read them in every n-th step only",
    ),
)
_INPUTS = Awaited(
    "of host-sync, after copies of {} B or less from pageable memory, one by one",
    "The host copies small inputs to the GPU one by one, and waits for each.",
    (
        "gather the inputs on the host and copy them together, from pinned memory"
        + for_torch(" (torch.stack, non_blocking=True)"),
        "keep them on the GPU, and index them there",
    ),
)
_STREAMS = Awaited(
    "of host-sync, between a kernel of one stream and the next stream's first",
    "The host waits for one stream before it launches on the next, so they never overlap.",
    (
        "launch on all streams first, then wait for each once",
        "where one stream needs another's results, let it wait for an event of that stream"
        + for_torch(" (Stream.wait_event)")
        + ", not the host",
        "make the streams branches of one CUDA graph",
    ),
)


def told(view: TimelineView) -> tuple[tuple[Evidence, ...], Awaited | None]:
    """Return how much idle time follows what most of it follows; () and None if nothing known."""
    rows = pl.concat([_finished(track) for track in view.tracks])
    total = float(rows["own_ns"].sum())
    if not total:
        return (), None
    for pattern, awaited in _BY_KERNEL:
        part = _part(rows, pl.col("kernel").str.contains(pattern))
        if part >= _MOST:
            return (view.percent(awaited.what, part),), awaited
    values, part = rows.filter("is_value"), _part(rows, pl.col("is_value"))
    steps = sum(track.steps.count for track in view.tracks)
    if part >= _MOST and values.height >= _LEAST_VALUES * steps:
        return (_values(view, values, part, steps),), _VALUES
    part = _part(rows, pl.col("is_turn"))
    if part >= _MOST:
        return (view.percent(_STREAMS.what, part),), _STREAMS
    inputs, part = rows.filter("is_input"), _part(rows, pl.col("is_input"))
    if part < _MOST:
        return (), None
    largest = int(inputs["bytes"].quantile(0.9, "lower") or 0)
    return (view.percent(_INPUTS.what.format(f"{largest:,}"), part),), _INPUTS


def _part(rows: pl.DataFrame, wanted: pl.Expr) -> float:
    return float(rows.filter(wanted)["own_ns"].sum()) / float(rows["own_ns"].sum())


def _values(view: TimelineView, values: pl.DataFrame, part: float, steps: int) -> Evidence:
    """Return the part of the idle time after such copies, how many there are, and of what."""
    makers = values.group_by("kernel").len().drop_nulls().sort("len", "kernel")
    of = f", most from {kernels.short_name(makers['kernel'][-1], _NAME)}" if makers.height else ""
    return view.percent(f"{_VALUES.what}, {values.height / steps:,.0f} per step{of}", part)


def _finished(track: Track) -> pl.DataFrame:
    """Return own_ns of each gap after a wait, and what ended as it began.

    ``kernel``: the last kernel's name; ``is_input``: whether the last operation is a small copy
    from pageable memory to the device; ``is_value``: or one of at most VALUE bytes to the host;
    ``bytes``: its size; ``is_turn``: whether a kernel ended and another stream's begins next.
    """
    pieces = track.idle.filter(pl.col("cause") == idle_causes.SYNCHRONISE)
    gaps = intervals.ordered(
        pieces.group_by("gap").agg(pl.col("start_ns").min(), own_ns=recording_cost.own_ns().sum()),
        "start_ns",
    )
    direction = pl.coalesce("copy_kind", "name")
    is_input = (
        (pl.col("memory") == copies.PAGEABLE)
        & direction.str.contains(copies.TO_DEVICE)
        & (pl.col("bytes") <= idle_causes.SMALL_BYTES)
    )
    is_value = (pl.col("bytes") <= VALUE) & direction.str.contains(copies.TO_HOST)
    ops = track.ops.with_columns(
        is_input=is_input.fill_null(False), is_value=is_value.fill_null(False)
    )
    last = ops.select("end_ns", "bytes", "is_input", "is_value")
    run = ops.filter(pl.col("kind") == "kernel").select("end_ns", kernel="name")
    found = intervals.with_ended(intervals.with_ended(gaps, last), run)
    return found.with_columns(is_turn=_turns(gaps, ops)).select(
        "own_ns", "kernel", "is_input", "is_value", "is_turn", "bytes"
    )


def _turns(gaps: pl.DataFrame, ops: pl.DataFrame) -> pl.Series:
    """Return whether the operations around each gap are kernels of two streams."""
    around = ops.select("start_ns", "end_ns", "kind", "stream")
    before = intervals.with_ended(gaps, around.drop("start_ns"))
    after = gaps.join_asof(around.sort("start_ns"), on="start_ns", strategy="forward")
    both = pl.DataFrame({"a": before["kind"], "b": after["kind"]}).select(
        (pl.col("a") == "kernel") & (pl.col("b") == "kernel")
    )
    return both.to_series() & before["stream"].ne_missing(after["stream"])
