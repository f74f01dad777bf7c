"""SMs that idle at the launch's end while the last blocks run.

It comes from a last wave that is not full, or from blocks that take longer than others. It shows
in the average SM's active cycles by the busiest one's, with at least one block per SM: fewer are
another cause; what the start of any kernel takes does not count. Source: NVIDIA, "Matrix
Multiplication Background User's Guide", Wave Quantization.
Gain: the average SM's idle time while the busiest one works.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import shape

KIND = FindingKind(
    "tail-effect",
    "SM",
    "SMs idle at the end of the launch, while the last thread blocks run.",
    fix=(
        "a tile size or a grid whose last wave is full",
        "a persistent kernel that hands out work as SMs become free (stream-K, work queue)",
        "start the longest blocks first, or split them",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the idle time at the end, of a launch that has blocks for every SM."""
    idle, activity = shape.imbalance(view), shape.activity(view)
    blocks, sms = shape.blocks(view), shape.sm_count(view)
    time = view.get("gpu__time_duration.sum")
    if idle is None or activity is None or not blocks or not sms or not time:
        return
    if idle < thresholds.IMBALANCE or idle * time < thresholds.RAMP_NS:
        return
    if blocks < sms * (1 - thresholds.IMBALANCE):
        return
    evidence = [
        view.evidence(
            "active cycles, average SM below the busiest", idle * 100, 100 * thresholds.IMBALANCE
        )
    ]
    waves = shape.waves(view)
    if waves is not None:
        evidence.append(view.evidence("launch__waves_per_multiprocessor", waves, None, ""))
    busiest = min(1.0, activity / (1 - idle)) if idle < 1 else 1.0
    yield view.finding(KIND, idle * busiest, *evidence)
