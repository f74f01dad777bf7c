"""A product on tensor cores with tiles so small that operands limit it, not arithmetic.

A warp that computes m by n results reads m + n values for m x n multiplications of each step, so
the operands of mma.sync, read from shared memory into registers, are the fewer for each instruction
the larger the tile is. It shows in 32-bit words read by tensor instructions, where L1's data path
or L2 is busier than the tensor pipe. wgmma reads shared memory itself and is no such instruction.
Source: NVIDIA, "Matrix Multiplication Background User's Guide", Tile sizes.
Gain: tiles of twice the rows and columns halve the traffic of operands, until another part is as
busy.

Where to look: In Compute Workload Analysis the tensor pipe is far from its peak, and L1's data path
or L2 is nearer to its own. In the SASS few HMMA stand behind each LDSM or LDS. Libraries write the
tile into the kernel's name; Triton's is in its launch: small blocks, and many of them.

Neighbours: tensor-bound has the tensor pipe at its ceiling. tile-quantisation has tiles of any size
that reach over the edge. bank-conflicts fills the same path with repeated wavefronts. slow-kernel
says by the timeline alone that the library has a faster kernel.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources

KIND = FindingKind(
    "small-tiles",
    "SM",
    "Tiles of a product are too small: its operands keep memory busier than the tensor cores.",
    fix=(
        "larger tiles (128 by 128 or 256 results per block, 64 by 64 per warp), 4 to 8 warps",
        "an autotuner over tile sizes, warps and stages; grouped order of tiles for L2",
        "tiles that wgmma takes on Hopper (64 rows per warp group), or a library (cuBLAS, CUTLASS)",
    ),
)
_OPERANDS = (resources.L1, resources.LSU, resources.L2, resources.FABRIC, resources.DRAM)
_HALF = 0.5


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the traffic of operands that larger tiles would not need."""
    words, busy = mix.words_of_operands(view), view.use(*_OPERANDS[:-1])
    if words is None or words < thresholds.OPERAND_WORDS:
        return
    tensor = view.use(resources.TENSOR)
    if busy < thresholds.AT_CEILING or tensor >= min(busy, thresholds.AT_CEILING):
        return
    yield view.finding(
        KIND,
        gain.at_the_ceiling(view, dict.fromkeys(_OPERANDS, _HALF)),
        view.evidence("words read by a tensor instruction", words, thresholds.OPERAND_WORDS, ""),
        view.evidence("memory of the operands: busy", busy * 100, thresholds.AT_CEILING * 100),
        view.evidence("tensor pipe", tensor * 100),
        confidence=0.8,
    )
