"""What an operator cannot do without: bytes of device memory, and operations, by family."""

from dataclasses import dataclass

LINEAR, ATTENTION, CONVOLUTION, FUSED = "linear", "attention", "convolution", "fused"
NORM, SOFTMAX, ELEMENTWISE, REDUCTION, GATHER = (
    *("norm", "softmax", "elementwise", "reduction", "gather"),
)


@dataclass(frozen=True)
class Work:
    """The least that an operator of a ``family`` does: bytes of device memory, and operations.

    ``kind``: of what arithmetic, "" of none that a datasheet has a rate for.
    """

    family: str
    moved_bytes: float
    flop: float = 0.0
    kind: str = ""
