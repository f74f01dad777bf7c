"""Whether two captures without marked steps hold as much work: how often their kernels run."""

from harness.analysis.diff.gpu import DiffRow, GpuDiff

_LEAST = 0.02
"""Difference in work below which captures count as holding the same."""
_AGREE, _EACH = 2, 2
"""Kernels that agree at least, and how many times as long their launches may take on one side."""
_AROUND, _AGREEING = 0.1, 0.8
"""Most of the kernels' time has to lie this near one ratio, or no ratio holds for the work."""


def work_ratio(diff: GpuDiff) -> float:
    """Return B's work over A's: the ratio of launches that holds for most of the kernels' time.

    Of kernels of one name on both sides, two or more of which agree. 1 where ranges mark the steps,
    where the launches agree, or where no ratio holds for most of either side's time.
    """
    kernels = [row for row in diff.rows if row.kind == "kernel"]
    same = [row for row in kernels if row.a.names == row.b.names and _alike(row)]
    if any(diff.ranges) or len(same) < _AGREE:
        return 1.0
    ratios = [_often(diff, row) for row in same]
    middle = _median([(ratio, row.a.total_ns) for ratio, row in zip(ratios, same, strict=True)])
    near = [
        row for ratio, row in zip(ratios, same, strict=True) if abs(ratio / middle - 1) <= _AROUND
    ]
    shares = (
        sum(row.a.total_ns for row in near) / max(1, sum(row.a.total_ns for row in kernels)),
        sum(row.b.total_ns for row in near) / max(1, sum(row.b.total_ns for row in kernels)),
    )
    if len(near) < _AGREE or min(shares) < _AGREEING or abs(middle - 1) < _LEAST:
        return 1.0
    return middle


def _alike(row: DiffRow) -> bool:
    """Return whether a launch takes about as long on both sides: it may be the same work."""
    a, b = row.a.total_ns * row.b.count, row.b.total_ns * row.a.count
    return a <= _EACH * b and b <= _EACH * a


def _often(diff: GpuDiff, row: DiffRow) -> float:
    before, after = diff.a_step(row.a.count, row.b.count)
    return after / before


def _median(weighted: list[tuple[float, int]]) -> float:
    """Return the median of values with weights, 1 of none."""
    half, reached = sum(weight for _, weight in weighted) / 2, 0
    for value, weight in sorted(weighted):
        reached += weight
        if reached >= half:
            return value
    return 1.0
