"""Tiles that reach over the edge of the data: work on padding.

Dimensions that are no multiple of the tile leave blocks whose accesses are masked off. It shows in
loads and stores of global memory that were executed with no thread left: executed instructions less
the requests that reached L1. Source: NVIDIA, "Matrix Multiplication Background User's Guide", Tile
Quantization. TMA cuts its boxes itself: such padding does not show.
Gain: the masked part of loads or of stores, as the part of each tile's work that is padding.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import resources

KIND = Kind(
    "tile-quantisation",
    "SM",
    "Tiles reach over the edge of the data, and their threads work on padding.",
    fix=(
        "a tile size that divides the dimension, or is nearer to it",
        "pad the data once, or merge small dimensions into a larger one",
    ),
)
_EXECUTED = "smsp__sass_inst_executed_op_global_{}.sum"
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the part of accesses that no thread made."""
    pairs = [
        (view.get(_EXECUTED.format(each)), view.get(_REQUESTS.format(each)))
        for each in ("ld", "st")
    ]
    if any(count is None for pair in pairs for count in pair):
        return
    parts = [1 - requests / executed for executed, requests in pairs if executed and requests]
    masked = max(parts, default=0.0)
    if masked < thresholds.MASKED:
        return
    room = 1 - view.use(resources.DRAM)
    yield view.finding(
        KIND,
        min(masked, room),
        view.evidence("accesses with no thread left", masked * 100, thresholds.MASKED * 100),
        confidence=0.7,
    )
