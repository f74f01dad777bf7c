"""Differences made by hand."""

from collections.abc import Sequence

from harness.analysis.diff.aggregate import Aggregate
from harness.analysis.diff.gpu import DiffRow, GpuDiff


def kernel_diff(deltas: Sequence[int], a_ns: int = 100_000, steps: int = 1) -> GpuDiff:
    """Return a difference of kernels that changed by so many ns each."""
    parts = [
        DiffRow(
            "kernel",
            f"k{place}",
            Aggregate(names=(f"k{place}",), count=1, total_ns=a_ns, by_step=(a_ns,)),
            Aggregate(
                names=(f"k{place}",), count=1, total_ns=a_ns + delta, by_step=(a_ns + delta,)
            ),
            "changed" if delta else "unchanged",
        )
        for place, delta in enumerate(deltas)
    ]
    total = a_ns * len(deltas)
    return GpuDiff(("", ""), steps, total, total + sum(deltas), tuple(parts))
