"""Accesses of 1 or 2 bytes per thread: the title and the remedies of findings on memory there.

A warp's access of one byte a thread asks for 32 bytes, and one of 16 for 512: the narrow ones take
16 times the instructions for the same bytes, and each of them has little in flight. Source: "CUDA
C++ Best Practices Guide", Coalesced Access to Global Memory; NVIDIA's blog "CUDA Pro Tip: Increase
Performance with Vectorized Memory Access".
"""

from dataclasses import replace

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import mix

_TITLE = "Each thread loads or stores 1 or 2 bytes at a time, so few bytes move by each access."
_FIX = (
    "vector accesses: 4 to 16 neighbouring bytes per thread at once (uchar4, uint, uint4)",
    "several elements per thread: their loads first, in flight together, then the arithmetic",
    "pointers marked const __restrict__, so that the compiler may load ahead of stores",
)


def told(view: KernelView, finding: Finding) -> Finding:
    """Return a finding with its cause told as narrow accesses, where these are most accesses."""
    part, accesses = mix.narrow(view), mix.executed(view, mix.GLOBAL)
    touched = view.get("memory_l2_theoretical_sectors_global")
    if part is None or not accesses or touched is None or part < thresholds.NARROW:
        return finding
    if touched / accesses > thresholds.NARROW_SECTORS:
        return finding
    evidence = (
        view.evidence("accesses of 1 or 2 bytes per thread", part * 100, thresholds.NARROW * 100),
        view.evidence("sectors per access", touched / accesses, thresholds.NARROW_SECTORS, ""),
    )
    return replace(finding, title=_TITLE, fix=_FIX, evidence=(*evidence, *finding.evidence))
