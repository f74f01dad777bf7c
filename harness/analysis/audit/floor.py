"""The floor of a step, its kernels at their ceilings, and which kinds of kernels are above it."""

from collections.abc import Sequence

from harness.analysis import kernels
from harness.analysis.audit.limits import TENSOR
from harness.analysis.audit.rows import Row

ATTENTION, BY_TENSOR, BY_DRAM = (
    "attention",
    "other kernels limited by tensor cores",
    "kernels limited by DRAM",
)


def ms(table: Sequence[Row], tensor: float | None = None) -> float:
    """Return the ms of a step in which every kernel that has targets reaches its last one.

    ``tensor``: the fraction of their peak that products reach instead.
    """
    return sum(_at_best(row, tensor) for row in table)


def above_ms(table: Sequence[Row], tensor: float | None = None) -> dict[str, float]:
    """Return by kind of kernel how many ms longer those take than in the floor, the most first."""
    above: dict[str, float] = {}
    for row in table:
        more = row.ms - _at_best(row, tensor)
        if more > 0:
            kind = _kind(row)
            above[kind] = above.get(kind, 0.0) + more
    return dict(sorted(above.items(), key=lambda pair: pair[1], reverse=True))


def _kind(row: Row) -> str:
    """Return the kind of a kernel that tensor cores or DRAM limit."""
    if kernels.family(row.kernel) == ATTENTION:
        return ATTENTION
    return BY_TENSOR if row.limit == TENSOR else BY_DRAM


def _at_best(row: Row, tensor: float | None) -> float:
    if tensor is not None and row.limit == TENSOR and row.used is not None:
        return row.ms * min(1.0, row.used / tensor)
    return row.ms - (row.savings[-1].ms if row.savings else 0.0)
