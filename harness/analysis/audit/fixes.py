"""Families of remedies for a kernel, by what it does and what limits it."""

import re

from harness.analysis import kernels
from harness.analysis.audit.limits import DRAM, LATENCY, TENSOR

_MISALIGNED = re.compile(r"align[12](?!\d)|_align1\b")
_NEAR = 0.70
_BY_FAMILY = {
    "optimizer/foreach": "fused optimizer (fused=True), or the step in backward",
    "softmax": "fused or chunked cross entropy; fused attention",
    "attention": "compare attention backends: torch.nn.attention.sdpa_kernel",
    "norm": "fuse with its neighbours: torch.compile, or a hand-written kernel",
    "elementwise": "fuse with its neighbours: torch.compile",
    "triton: pointwise": "fuse further, or into a GEMM's epilogue",
    "reduce": "fuse with its neighbours; a kernel with more blocks",
    "cast/copy": "keep the data in the type and layout that is read",
    "fill/memset": "do not fill what is overwritten: set_to_none",
    "index/gather": "sort or combine indices; fewer atomics",
    "communication": "overlap with computation",
}


def family(kernel: str, operator: str, limit: str | None, used: float | None) -> str:
    """Return the family of remedies, empty where none is known.

    ``used``: the fraction of the peak of ``limit`` that the kernel reaches.
    """
    if limit == LATENCY:
        return "fewer launches: fuse, batch, CUDA graph"
    group = kernels.family(kernel)
    if group in ("gemm", "convolution", "gemv"):
        if _MISALIGNED.search(kernel):
            return "pad the sizes to a multiple of 8 or more elements"
        if limit == TENSOR and used is not None and used >= _NEAR:
            return "near the ceiling: fewer or narrower operations"
        if limit == DRAM:
            return "narrower weights, or more rows a product"
        return "another tile or split-K; larger products"
    if "loss" in operator or "log_softmax" in operator:
        return "chunked cross entropy that never writes the logits"
    return _BY_FAMILY.get(group, "")
