"""Tiles that reach over the edge of the data: work on padding.

Dimensions that are no multiple of the tile leave warps whose accesses are masked off, but whose
arithmetic runs like that of others. It shows in loads of global memory that warps executed with no
thread left, of a launch that works inside its SMs: masked loads move no bytes, so DRAM and L2 lose
nothing to padding. Stores are no sign: one thread stores the sum of a block. TMA cuts its boxes
itself, and a tile's edge within a warp leaves it some threads: such padding does not show. Source:
NVIDIA, "Matrix Multiplication Background User's Guide", Tile Quantization.
Gain: the masked part of the loads, as the part of each tile's work that is padding.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import resources, shape, traffic

KIND = FindingKind(
    "tile-quantisation",
    "SM",
    "Tiles reach over the edge of the data, and their threads work on padding.",
    fix=(
        "a tile size that divides the dimension, or is nearer to it",
        "pad the data once, or merge small dimensions into a larger one",
    ),
)
_FETCHED = (resources.DRAM, resources.L2, resources.FABRIC)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the part of loads that no thread made."""
    masked = traffic.masked_loads(view)
    if masked is None or masked < thresholds.MASKED:
        return
    fetched, worked = view.use(*_FETCHED), view.use_of_others(*_FETCHED)
    if worked < max(fetched, thresholds.WAITS) or shape.brief(view):
        return
    yield view.finding(
        KIND,
        min(masked, 1 - fetched),
        view.evidence("loads with no thread left", masked * 100, thresholds.MASKED * 100),
        view.evidence("busiest part inside the SMs", worked * 100, thresholds.WAITS * 100),
        confidence=0.7,
    )
