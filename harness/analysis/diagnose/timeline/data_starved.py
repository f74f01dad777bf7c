"""The device waits for the next batch of input.

It shows as idle time while the launching thread is in a range whose name says that it loads data,
such as ``enumerate(DataLoader)#…``, or waits in the operating system for another thread or process,
or reads a file, while no other thread launches (harness.analysis.idle.causes, DATA; the waits are
those that nsys traces as OS runtime calls). Without either it is host code like any other:
host-bound.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis.diagnose import host_code, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch, for_training
from harness.analysis.idle import causes as idle_causes

KIND = FindingKind(
    "data-starved",
    "timeline",
    "The GPU waits for input that a loader, another thread or a file has to deliver.",
    fix=(
        "load in more worker processes, with prefetching"
        + for_torch(" (num_workers, prefetch_factor)"),
        "prepare data ahead of time, or on the GPU",
        for_training("keep workers between epochs" + for_torch(" (persistent_workers=True)")),
    ),
    broader="host-bound",
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in ranges of data loading."""
    share, gaps = view.idle(idle_causes.DATA), view.count(idle_causes.DATA)
    if not view.repeats(idle_causes.DATA):
        return
    longest = _longest_wait(view)
    told = [
        view.number(f"in {name}, of threads that launch", ns / 1e6, "ms")
        for name, ns in ([longest] if longest else [])
    ]
    evidence = (
        view.percent("idle while the host waits for input", share, thresholds.MATTERS),
        *told,
        *host_code.meanwhile(view),
        view.number("gaps with such a wait", gaps, "", thresholds.REPEATED_INPUT),
        view.percent("time in which the GPU computes", view.compute),
    )
    finding = KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.9)
    fixes = host_code.fixes_of(longest and longest[0])
    yield replace(finding, fix=(*fixes, *finding.fix))


def _longest_wait(view: TimelineView) -> tuple[str, int] | None:
    """Return the OS runtime call in which the host's threads waited longest for input; its time.

    Threads that never launch, such as a loader's own, do not count. None without such calls.
    """
    waits = view.waits()
    totals = waits.group_by("name").agg(pl.col("duration_ns").sum()).sort("duration_ns", "name")
    return next(totals.tail(1).iter_rows(), None)
