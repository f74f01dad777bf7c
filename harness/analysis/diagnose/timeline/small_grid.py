"""Kernels run that have so few blocks that most multiprocessors have nothing to do.

It shows as time in which the grids of all running kernels together have at most FEW_BLOCKS as many
blocks as the device has multiprocessors: a block runs on one of them (CUDA C++ Programming Guide,
"Hardware Multithreading"). Collectives take few blocks on purpose and count as full, as do kernels
of no more than SHORT_NS and those whose grid is not recorded. Nsight Compute tells the same of one
launch: too-few-blocks. Where streams wait for each other, stream-serialised says what to do.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis import communication
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.serialised_streams import blocks, serialised
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.kernels import short_name

KIND = FindingKind(
    "small-grid",
    "timeline",
    "Kernels run that have too few blocks for the GPU: most multiprocessors are idle.",
    fix=(
        "divide the work into more blocks, also along a reduction (split-K)",
        "give a launch more work, such as a larger batch",
        "run several such kernels side by side, on streams or as branches of a CUDA graph",
    ),
)
_NEXT = "profile the kernel with Nsight Compute: its blocks, and what each of them waits for"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of each device in which multiprocessors had no block to run."""
    for track in view.tracks:
        room = track.multiprocessors or thresholds.LEAST_MULTIPROCESSORS
        few = _few(track, room)
        if few.is_empty() or serialised(track.ops, room).kernels >= thresholds.REPEATED:
            continue
        length = few["length_ns"]
        share, gain = (float(each.sum()) for each in (length, length * (1 - few["running"] / room)))
        evidence = (
            view.percent("time in such grids", view.fraction(share), thresholds.MATTERS),
            _longest(view, track, room),
        )
        yield KIND.finding(
            track.where,
            evidence,
            share=view.fraction(share),
            gain=view.fraction(gain),
            confidence=0.8 if track.multiprocessors else 0.6,
            capture_next=(_NEXT,),
        )


def _kernels(track: Track, room: int) -> pl.DataFrame:
    """Return kernels and graphs with ``blocks``; ``room`` where they count as full."""
    small = (
        (pl.col("kind") == "kernel")
        & (pl.col("work") == communication.COMPUTE)
        & (pl.col("duration_ns") > thresholds.SHORT_NS)
    )
    return track.ops.filter(pl.col("kind").is_in(["kernel", "graph"])).with_columns(
        blocks=pl.when(small).then(blocks()).fill_null(room)
    )


def _few(track: Track, room: int) -> pl.DataFrame:
    """Return length_ns and running, the blocks, of the stretches in which too few of them run."""
    kernels = _kernels(track, room)
    at = pl.col("start_ns")
    edges = pl.concat(
        [
            kernels.select(at, change="blocks"),
            kernels.select(at + pl.col("duration_ns"), change=-pl.col("blocks")),
        ]
    )
    steps = edges.group_by("start_ns").agg(pl.col("change").sum()).sort("start_ns")
    most = room * thresholds.FEW_BLOCKS
    running = steps.select(
        length_ns=at.shift(-1) - at,
        running=pl.col("change").cum_sum(),
    )
    return running.filter(pl.col("running").is_between(1, most)).drop_nulls()


def _longest(view: TimelineView, track: Track, room: int) -> Evidence:
    """Return the blocks of the kernel that takes most time in such grids."""
    small = _kernels(track, room).filter(pl.col("blocks") <= room * thresholds.FEW_BLOCKS)
    shapes = small.group_by("name", "blocks", "block").agg(pl.col("duration_ns").sum())
    name, count, block, _ = shapes.sort("duration_ns", "name", descending=[True, False]).row(0)
    threads = _threads(block)
    of = "" if threads is None else f", of {threads} {'thread' if threads == 1 else 'threads'} each"
    return view.number(f"blocks of {short_name(str(name))}{of}", count, "", room)


def _threads(block: str | None) -> int | None:
    """Return the threads of a block, None where its shape is not recorded."""
    if block is None:
        return None
    x, y, z = (int(side) for side in block.split(","))
    return x * y * z
