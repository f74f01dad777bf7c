"""Kernels run that have so few blocks that most multiprocessors have nothing to do.

It shows as time in which the grids of all running kernels together have at most FEW_BLOCKS as many
blocks as the device has multiprocessors: a block runs on one of them (CUDA C++ Programming Guide,
"Hardware Multithreading"), however many more it could hold. The gain is the part of them without
one: g blocks on S could take g / S of the time. Collectives take few blocks on purpose and count as
full, as do kernels of no more than SHORT_NS and those whose grid is not recorded. Nsight Compute
tells the same of one launch: too-few-blocks. Time for which streams wait for each other is left to
stream-serialised.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis import communication, trials
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.serialised_streams import blocks
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_nvidia
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
_NEXT = (
    "profile the kernel with "
    + for_nvidia("Nsight Compute", otherwise="rocprof-compute")
    + ": its blocks, and what each of them waits for"
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of each device in which multiprocessors had no block to run."""
    for track in view.tracks:
        kernels = _kernels(track)
        few = _few(kernels, track.room)
        idle_ns = few["few_ns"] * (1 - few["running"] / track.room)
        whole_ns, lost_ns = float(few["few_ns"].sum()), float(idle_ns.sum())
        share_ns = whole_ns - track.serialised.total_ns
        if share_ns <= 0:
            continue
        share = view.fraction(share_ns)
        evidence = (
            view.percent("time in such grids", share, thresholds.MATTERS),
            _longest(view, kernels, few),
        )
        yield KIND.finding(
            track.where,
            evidence,
            share=share,
            gain=share * lost_ns / whole_ns,
            confidence=0.8 if track.multiprocessors else 0.6,
            capture_next=(_NEXT,),
        )


def _kernels(track: Track) -> pl.DataFrame:
    """Return kernels and graphs with end_ns and ``blocks``, the room where they count as full."""
    small = (
        (pl.col("kind") == "kernel")
        & (pl.col("work") == communication.COMPUTE)
        & (pl.col("duration_ns") > thresholds.SHORT_NS)
    )
    return (
        trials.without(track.ops)
        .filter(pl.col("kind").is_in(["kernel", "graph"]))
        .with_columns(
            end_ns=pl.col("start_ns") + pl.col("duration_ns"),
            blocks=pl.when(small).then(blocks()).fill_null(track.room),
        )
    )


def _few(kernels: pl.DataFrame, room: int) -> pl.DataFrame:
    """Return each moment at which a kernel starts or ends, and what runs until the next.

    Columns: at_ns; running, the blocks; few_ns, how long that lasts if they are too few, else 0;
    before_ns, the sum of few_ns before it.
    """
    edges = pl.concat(
        [
            kernels.select(at_ns="start_ns", change="blocks"),
            kernels.select(at_ns="end_ns", change=-pl.col("blocks")),
        ]
    )
    running = pl.col("running")
    ordered = edges.sort("at_ns").select("at_ns", running=pl.col("change").cum_sum())
    moments = ordered.filter(pl.col("at_ns").ne_missing(pl.col("at_ns").shift(-1)))
    few = running.is_between(1, room * thresholds.FEW_BLOCKS)
    length = (pl.col("at_ns").shift(-1) - pl.col("at_ns")).fill_null(0)
    lasting = moments.select("at_ns", "running", few_ns=pl.when(few).then(length).otherwise(0))
    return lasting.with_columns(before_ns=pl.col("few_ns").cum_sum() - pl.col("few_ns"))


def _longest(view: TimelineView, kernels: pl.DataFrame, few: pl.DataFrame) -> Evidence:
    """Return the blocks of the kernel that runs for most of the time in which too few blocks do."""
    before = few.select("at_ns", "before_ns")
    timed = kernels.join(before, left_on="start_ns", right_on="at_ns").join(
        before, left_on="end_ns", right_on="at_ns", suffix="_end"
    )
    inside = (pl.col("before_ns_end") - pl.col("before_ns")).sum().alias("few_ns")
    shapes = timed.group_by("name", "blocks", "block").agg(inside)
    name, count, block, _ = shapes.sort("few_ns", "name", descending=[True, False]).row(0)
    threads = _threads(block)
    of = "" if threads is None else f", of {threads} {'thread' if threads == 1 else 'threads'} each"
    return view.number(f"blocks of {short_name(str(name))}{of}", count)


def _threads(block: str | None) -> int | None:
    """Return the threads of a block, None where its shape is not recorded."""
    if block is None:
        return None
    x, y, z = (int(side) for side in block.split(","))
    return x * y * z
