"""An optimiser that updates one parameter after another: a handful of tiny kernels for each tensor.

Without foreach or fused, torch.optim runs about seven operators a parameter, one of which divides
by the root of the second moment: addcdiv, which Adam, AdamW, RMSprop, Adagrad and Adadelta all end
with (torch/optim/adam.py, _single_tensor_adam, and its neighbours). Where all are updated together,
the kernels are those of multi_tensor_apply, or one fused kernel.
"""

import polars as pl

from harness.analysis import intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import recording_cost

FIX = for_torch(
    "update all parameters by few kernels (fused=True or foreach=True of torch.optim; "
    "torch._foreach operators for averages of weights)"
)
_DIVIDES, _TOGETHER = "addcdiv", "multi_tensor_apply"
_CAUSES = (idle_causes.HOST, idle_causes.LAUNCH)
_REACH = 7
"""Kernels before and after addcdiv that may be of the same parameter or the next one's."""


def told(view: TimelineView) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Return the time in which the GPU waits for launches of such an optimiser, and the fix.

    Both are empty where that is less than MATTERS of the whole time.
    """
    idle = updates = 0
    name = pl.col("name").str
    divides = name.contains(_DIVIDES, literal=True) & ~name.contains(_TOGETHER, literal=True)
    for track in view.tracks:
        count = int(track.ops.select(divides.sum()).item())
        if not count:
            continue
        updates += count
        near = divides.cast(pl.Int8).rolling_max(2 * _REACH + 1, min_samples=1, center=True)
        rows = track.ops.sort("start_ns").select(next_ns="start_ns", near=near.fill_null(0) == 1)
        pieces = track.idle.filter(pl.col("cause").is_in(_CAUSES))
        pieces = pieces.select("end_ns", own_ns=recording_cost.own_ns())
        placed = intervals.ordered(pieces, "end_ns").join_asof(
            rows, left_on="end_ns", right_on="next_ns", strategy="forward"
        )
        idle += int(placed.filter("near")["own_ns"].sum())
    share = view.fraction(idle)
    if share < thresholds.MATTERS:
        return (), ()
    what = f"idle before an optimiser's kernels, which update one tensor each, {updates:,} times"
    return (view.percent(what, share),), (FIX,)
