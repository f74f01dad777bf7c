"""Said of a load in which no cause that a load shows costs enough.

The engine may still be too slow for the load: then more requests wait than it can take, and what a
step does on the device decides, which a timeline tells.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis import serving
from harness.analysis.diagnose.finding import HEALTHY, Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView

KIND = FindingKind(
    HEALTHY, "serving", "The engine's steps are as full and as close as the load lets them be."
)
_NEXT = "capture a timeline of some steps: harness diagnose says what the device does in them"
_MEASURED = (
    ("requests that wait, mean", serving.queue_mean, ""),
    ("requests in their bounds", serving.slo_attainment, "%"),
    ("cache in use, at most", serving.kv_use_max, "%"),
)


def found(view: ServingView) -> Iterator[Finding]:
    """Yield it where steps and tokens are known."""
    if not view.known:
        return
    evidence = [
        view.ms("median time between tokens", view.undisturbed_ns),
        view.ms("p99 time between tokens", view.late_ns),
    ]
    for name, measure, unit in _MEASURED:
        value = measure(view.tables)
        if value is not None:
            evidence.append(view.number(name, value, unit))
    yield KIND.finding(
        "the engine",
        tuple(evidence),
        share=0.0,
        gain=0.0,
        confidence=0.6 if (lacking := tuple(_lacking(view))) else 0.9,
        capture_next=(*lacking, _NEXT),
    )


def _lacking(view: ServingView) -> Iterator[str]:
    """Yield what the load does not say, and a cause could hide behind."""
    if not view.steps.select(
        pl.any_horizontal(pl.col("plan_ns", "host_ns").is_not_null().any())
    ).item():
        yield "let the engine's step() say host_us and plan_us: whether the device waits for them"
    if view.steps["waiting"].null_count() == view.steps.height:
        yield "let the engine's step() say whom it admitted and preempted: who waits, and for what"
    if not view.blocks:
        yield "say the cache's blocks (kv_blocks): whether more requests would fit"
