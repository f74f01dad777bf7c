"""Between two steps the engine schedules on the host, and the device waits for it.

That is the time between steps and, where the engine says it, the part of a step before its first
launch; else all of its host time, of which the device may already work for a part. An engine that
reads a step's tokens before it plans the next waits for all of it, and planning ahead hides as much
as the rest of the step takes. One that plans ahead already waits only in steps in which the host
does not wait for the device; for how long, a load does not say. Scheduling is of every step: what
few steps lose is jitter of the host.

Where to look: In a timeline of the engine the GPU's row is empty between the last kernel of a step
and the first of the next, while the engine's thread is in no CUDA call. In a load's steps, plan_us
and the time to the next step are a large part of the period, in nearly every step.

Neighbours: host-bound is the same gap in a timeline, which does not say what the host does.
launch-bound has its gaps within the step, below a full row of CUDA calls. batch-underfilled wastes
steps in which the device is busy.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis.diagnose import serving_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView, median

_AHEAD = (
    "plan and launch the next step before the tokens of the last are read (asynchronous scheduling)"
)
_LESS = (
    "schedule less in Python: arrays instead of an object per request, tokens turned into text and"
    " streamed in another process"
)
KIND = FindingKind(
    "scheduler-bubble",
    "serving",
    "The engine schedules on the host while the device waits for its next step.",
    fix=(_AHEAD, _LESS),
)
_NEXT = "capture a timeline of some steps: harness diagnose says for how long the device is idle"


def found(view: ServingView) -> Iterator[Finding]:
    """Yield the time of scheduling that no step hides."""
    told = view.steps.with_columns(host=pl.coalesce("plan_ns", "host_ns")).drop_nulls("host")
    if not view.known or told.is_empty():
        return
    exposed = told
    if view.ahead:
        waited = pl.col("duration_ns") - pl.col("host_ns").fill_null(pl.col("host"))
        exposed = told.filter(waited < serving_thresholds.NOT_WAITED * pl.col("period_ns"))
    host = (pl.col("host") + pl.col("gap_ns")).clip(0, pl.col("period_ns"))
    hidden = pl.min_horizontal(host, pl.col("period_ns") - host)
    typical = exposed.select((host / pl.col("period_ns")).median()).item() or 0.0
    if typical < thresholds.MATTERS:
        return
    spent, saved = exposed.select(host.sum().alias("spent"), hidden.sum().alias("saved")).row(0)
    share = view.part(spent)
    what = "time of scheduling, where it decides" if view.ahead else "time of scheduling"
    evidence = (
        view.percent(what, share, thresholds.MATTERS),
        view.ms("scheduling, of a median step", median(told.select(host).to_series())),
        view.ms("median step", median(told["period_ns"])),
    )
    sure = view.ahead is False and told["plan_ns"].null_count() == 0
    finding = KIND.finding(
        "the engine",
        evidence,
        share=share,
        gain=view.part(saved) if view.ahead is False else None,
        confidence=0.9 if sure else 0.6,
        capture_next=() if sure else (_NEXT,),
    )
    yield replace(finding, fix=(_LESS,)) if view.ahead else finding
