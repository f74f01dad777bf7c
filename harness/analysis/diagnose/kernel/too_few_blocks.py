"""A grid with fewer thread blocks than the GPU has SMs, or than its SMs need to be filled.

Idle SMs show in the grid's size and in the average SM's active cycles by the busiest one's. Where
every SM has a block, but fewer than fit (waves below 1), warps are too few to hide latency.
Kernels that feed tensor cores need no more than a block per SM. Source: NVIDIA, "CUDA C++ Best
Practices Guide", Thread and Block Heuristics.
Gain: the idle SMs, as far as DRAM and L2, which all SMs share, leave room. Of warps that wait for
the others of their block at barriers, more blocks hide nothing.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import resources, shape, warps

KIND = FindingKind(
    "too-few-blocks",
    "SM",
    "The grid has too few thread blocks to fill the GPU.",
    fix=(
        "split the reduction dimension over blocks (split-K, stream-K), or use smaller tiles",
        "process several problems in one launch (batch), or run kernels side by side in streams",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the part of the GPU that has no block, or too few."""
    blocks, sms, waves = shape.blocks(view), shape.sm_count(view), shape.waves(view)
    if not blocks or not sms or shape.brief(view):
        return
    shared = view.use(resources.DRAM, resources.L2, resources.FABRIC, resources.ATOMICS)
    evidence = [view.evidence("thread blocks", blocks, sms, "block")]
    if waves is not None:
        evidence.append(view.evidence("launch__waves_per_multiprocessor", waves, 1.0, ""))
    if blocks < sms * (1 - thresholds.IMBALANCE):
        activity = shape.activity(view)
        if activity is not None:
            evidence.append(view.evidence("SMs' active cycles", activity * 100, 100.0))
        yield view.finding(KIND, min(1 - blocks / sms, 1 - shared), *evidence)
        return
    top = view.top
    if waves is None or top is None or top.use >= thresholds.AT_CEILING:
        return
    if _pipelined(view):
        return
    if waves < thresholds.LOW_OCCUPANCY:
        hidden = 1 - warps.waiting(view, "barrier")
        saved = min(1 - waves, 1 - top.use) * hidden
        yield view.finding(KIND, saved, *evidence, confidence=0.7)


def _pipelined(view: KernelView) -> bool:
    return view.use(resources.TENSOR) >= thresholds.PIPELINED
