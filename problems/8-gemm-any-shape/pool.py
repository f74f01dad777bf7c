"""Operands for products of many shapes, cut out of one large memory of random numbers."""

from functools import cached_property
from typing import Any

from ladder import ELEMENT_BYTES
from plans import Problem, overlaps

ELEMENTS = 3 << 30
"""Numbers in the pool: the largest operands of the suite fit, several sets of most."""
START = 128
"""Each operand begins at a multiple of this many elements."""
MOST_SETS = 32
"""Sets of operands in rotation; small ones then stay in L2, and the cold column counts."""
FEW_SETS = 8
"""As many where ``MOST_SETS`` would stay in L2 as well: more only cost time."""
GUARD = 1 << 14
"""Elements of NaN before and after a C that is checked."""
LAUNCHES = 6
"""Launches of a batch at least, of products whose weights stream: whether one may begin while the
one before it ends (PDL) shows between launches of one graph."""

Operands = tuple[Any, Any, Any]


class OperandPool:
    """Normal random numbers on the GPU, and memory for results, both made when first needed."""

    def __init__(self, element: str, elements: int = ELEMENTS) -> None:
        import torch

        self._dtype = torch.bfloat16 if element == "bf16" else torch.float16
        self._elements = elements

    @cached_property
    def _numbers(self) -> Any:
        import torch

        numbers = torch.empty(self._elements, dtype=self._dtype, device="cuda")
        for part in numbers.split(1 << 28):
            part.normal_()
        return numbers

    @cached_property
    def _results(self) -> Any:
        import torch

        return torch.empty(self._elements // 2, dtype=self._dtype, device="cuda")

    def sets(self, problem: Problem) -> list[Operands]:
        """Return sets of A, B and C that together exceed L2 three times, if ``MOST_SETS`` do.

        Where one alone does, and PDL is off (``plans.overlaps``), sets repeat up to ``LAUNCHES``.
        """
        from harness.probe.paired import sets_beyond_cache

        (a_size, b_size, c_size) = problem.stored
        bytes_each = ELEMENT_BYTES * sum(rows * columns for rows, columns in problem.stored)
        beyond = sets_beyond_cache(bytes_each)
        wanted = FEW_SETS if beyond > 3 * MOST_SETS else min(beyond, MOST_SETS)
        sets: list[Operands] = []
        at, to = 0, 0
        for _ in range(wanted):
            a, at = _cut(self._numbers, at, a_size)
            b, at = _cut(self._numbers, at, b_size)
            c, to = _cut(self._results, to, c_size)
            sets.append((a, b, c))
        return sets if overlaps(problem) else sets * -(-LAUNCHES // len(sets))

    def poisoned(self, problem: Problem, seed: int) -> tuple[Any, Any, Any, Any]:
        """Return fresh random A and B, a C of NaN, and the memory of NaN around it."""
        import torch

        generator = torch.Generator("cuda").manual_seed(seed)
        a_size, b_size, (m, n) = problem.stored
        a, b = (
            torch.randn(size, device="cuda", generator=generator).to(self._dtype)
            for size in (a_size, b_size)
        )
        count = -(-m * n // START) * START + 2 * GUARD
        memory = torch.full((count,), float("nan"), dtype=self._dtype, device="cuda")
        return a, b, memory[GUARD : GUARD + m * n].view(m, n), memory


def _cut(memory: Any, begin: int, size: tuple[int, int]) -> tuple[Any, int]:
    """Return a matrix from ``begin`` on, or from the memory's start if it is full, and its end."""
    rows, columns = size
    if begin + rows * columns > memory.numel():
        begin = 0
    matrix = memory[begin : begin + rows * columns].view(rows, columns)
    return matrix, -(-(begin + rows * columns) // START) * START
