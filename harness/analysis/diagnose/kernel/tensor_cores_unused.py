"""A product of matrices, or a convolution, on the FMA pipe instead of the tensor cores.

No tensor instruction ran, most instructions are FFMAs that multiply two loaded values, and the FMA
pipe or the issue slots are busy. Products on padding are tile-quantisation first.
Source: the SASS of cuBLAS's FFMA kernels and of problem 4's step `fp32`; rates from datasheets.
Gain: tensor cores with TF32 take an eighth of the pipe's time, and read shared memory themselves;
then another part is the busiest.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import tile_quantisation
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources
from harness.analysis.hint import for_torch

KIND = FindingKind(
    "tensor-cores-unused",
    "thread",
    "A product of matrices runs on the FMA pipe, and the tensor cores idle.",
    fix=(
        "BF16, FP16 or TF32 inputs with FP32 accumulation"
        + for_torch(" (torch: allow_tf32, autocast)"),
        "a library or Triton's tl.dot instead of scalar loops",
        "dimensions and alignments that the tensor instructions take",
    ),
)
_PARTS = (resources.FMA, resources.ALU, resources.ISSUE, resources.L1, resources.LSU)
"""What the arithmetic and its operands keep busy."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the arithmetic that tensor cores would do."""
    products, tensor = mix.product_share(view), mix.share(view, mix.TENSOR)
    fused = mix.share(view, frozenset({"FFMA", "FFMA2"}))
    if products is None or fused is None or tensor != 0:
        return
    if products < thresholds.PRODUCT or fused < thresholds.PRODUCT_SHARE:
        return
    busy = view.use(resources.FMA, resources.ISSUE)
    if busy < thresholds.PRODUCT_BUSY or any(tile_quantisation.found(view)):
        return
    faster = 1 - 1 / thresholds.TENSOR_GAIN
    yield view.finding(
        KIND,
        gain.at_the_ceiling(view, dict.fromkeys(_PARTS, faster)),
        view.evidence(
            "FFMAs that multiply loaded values", products * 100, thresholds.PRODUCT * 100
        ),
        view.evidence(
            "FFMAs of executed instructions", fused * 100, thresholds.PRODUCT_SHARE * 100
        ),
        view.evidence("FMA pipe or issue slots", busy * 100, thresholds.PRODUCT_BUSY * 100),
        confidence=0.8,
    )
