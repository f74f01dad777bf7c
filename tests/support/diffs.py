"""Differences made by hand."""

from collections.abc import Sequence

from harness.analysis.diff.aggregate import Side
from harness.analysis.diff.gpu import GpuDiff, Row


def kernel_diff(deltas: Sequence[int], a_ns: int = 100_000, steps: int = 1) -> GpuDiff:
    """Return a difference of kernels that changed by so many ns each."""
    parts = [
        Row(
            "kernel",
            f"k{place}",
            Side(names=(f"k{place}",), count=1, total_ns=a_ns, by_step=(a_ns,)),
            Side(names=(f"k{place}",), count=1, total_ns=a_ns + delta, by_step=(a_ns + delta,)),
            "changed" if delta else "unchanged",
        )
        for place, delta in enumerate(deltas)
    ]
    total = a_ns * len(deltas)
    return GpuDiff(("", ""), steps, total, total + sum(deltas), tuple(parts))
