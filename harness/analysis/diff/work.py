"""Whether two captures without marked steps hold as much work: how often their kernels run."""

from harness.analysis.diff.gpu import GpuDiff

_LEAST = 0.02
"""Difference in work below which captures count as holding the same."""
_AROUND, _AGREEING = 0.1, 0.8
"""Most of the kernels' time has to lie this near one ratio, or no ratio holds for the work."""


def work_ratio(diff: GpuDiff) -> float:
    """Return B's work over A's: the ratio of launches that holds for most of the kernels' time.

    1 where ranges mark the steps, where the launches agree, or where no ratio holds for most.
    """
    if any(diff.ranges):
        return 1.0
    kernels = [row for row in diff.rows if row.kind == "kernel" and row.a.count and row.b.count]
    ratios = []
    for row in kernels:
        before, after = diff.a_step(row.a.count, row.b.count)
        ratios.append((after / before, row.a.total_ns))
    whole = sum(row.a.total_ns for row in diff.rows if row.kind == "kernel")
    middle = _median(ratios)
    near = sum(time for ratio, time in ratios if abs(ratio / middle - 1) <= _AROUND)
    if near < _AGREEING * whole or abs(middle - 1) < _LEAST:
        return 1.0
    return middle


def _median(weighted: list[tuple[float, int]]) -> float:
    """Return the median of values with weights, 1 of none."""
    half, reached = sum(weight for _, weight in weighted) / 2, 0
    for value, weight in sorted(weighted):
        reached += weight
        if reached >= half:
            return value
    return 1.0
