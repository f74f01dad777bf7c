"""C = A @ B for matrices of any shape, in either order, by the plan that is measured or predicted.

The entry point for users of the kernels. A choice that ``tune.py`` measured on this GPU is taken
before the model's.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from cubins import CACHE
from device import peak_bandwidth
from general import Library
from ladder import MAX_BOUND, Launch
from model import choose
from packing import Workspace, enter_context
from plans import CHUNK, Plan, Problem, describe, plans

TUNED = Path(__file__).parent / "tuned.json"
ELEMENTS = {"torch.bfloat16": "bf16", "torch.float16": "fp16"}
HOPPER = (9, 0)
"""The compute capability that the kernels are built for."""
MAX_SIZE = (1 << 31) - 1
"""The largest M, N or K: the kernels take them as C's int."""


class Multiplier:
    """Computes products on torch's current device; each stream has a workspace of its own.

    ``tuned``: measured plans' names by ``key``.
    """

    def __init__(self, element: str, cache: Path, *, tuned: dict[str, str] | None = None) -> None:
        self._element, self._cache = element, cache
        self._tuned = tuned or {}
        self._functions: dict[str, Any] = {}
        self._libraries: dict[int, Library] = {}
        self._plans: dict[Problem, Plan] = {}
        self._bound: dict[tuple[Any, ...], list[Launch]] = {}

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute ``c = a @ b``; ``order`` knows how A and B lie, C's rows are contiguous."""
        import torch

        enter_context(torch.cuda.current_device())
        stream = torch.cuda.current_stream().cuda_stream
        address = a.data_ptr(), b.data_ptr(), c.data_ptr()
        key = (stream, *address, a.shape, b.shape, a.stride(), b.stride(), c.stride())
        launches = self._bound.get(key)
        if launches is None:
            if len(self._bound) >= MAX_BOUND:
                self._bound.clear()
            launches = self._bound[key] = self.bind(stream, a, b, c)
        for launch in launches:
            launch(stream)

    def plan(self, problem: Problem) -> Plan:
        """Return the plan of a problem; a CUDA context has to be current."""
        if problem not in self._plans:
            name = self._tuned.get(key(problem, self._element))
            by_name = {plan.name: plan for plan in plans(problem)} if name else {}
            self._plans[problem] = by_name.get(name or "") or choose(problem, peak_bandwidth())
        return self._plans[problem]

    def bind(self, stream: int, a: Any, b: Any, c: Any) -> list[Launch]:
        """Return the launches of ``c = a @ b`` on a stream, of its handle; a context is current."""
        library = self._libraries.get(stream)
        if library is None:
            library = self._libraries[stream] = Library(
                self._element,
                self._cache,
                functions=self._functions,
                allocate=Workspace,
            )
        layout = order(a) + order(b)
        kept = [
            operand.t() if letter == "t" else operand
            for operand, letter in zip((a, b), layout, strict=True)
        ]
        shape = a.shape[0], b.shape[1], a.shape[1]
        matrices = (*kept, c)
        packed = all(matrix.is_contiguous() for matrix in matrices)
        problem = Problem(shape, layout, tuple(map(_based, matrices)), packed)
        return library.bind(self.plan(problem), problem, *kept, c)


def computes(a: Any, b: Any) -> bool:
    """Return whether the kernels take these tensors."""
    return (
        a.is_cuda
        and a.device == b.device
        and a.dtype == b.dtype
        and element(a.dtype) is not None
        and a.dim() == b.dim() == 2
        and a.shape[1] == b.shape[0]
        and min(*a.shape, *b.shape) > 0
        and max(*a.shape, *b.shape) <= MAX_SIZE
        and capability(a.device.index) == HOPPER
    )


@cache
def element(dtype: Any) -> str | None:
    """Return the kernels' name of a tensor's type; None if they do not compute it."""
    return ELEMENTS.get(str(dtype))


@cache
def capability(device: int) -> tuple[int, int]:
    """Return a GPU's compute capability."""
    import torch

    return torch.cuda.get_device_capability(device)


@cache
def multiplier(device: int, dtype: Any) -> Multiplier:
    """Return what multiplies on a GPU, with the choices measured there; ``computes`` is true."""
    import torch

    return Multiplier(ELEMENTS[str(dtype)], CACHE, tuned=tuned(torch.cuda.get_device_name(device)))


def key(problem: Problem, element: str) -> str:
    """Return the name under which a measured choice is kept."""
    return f"{describe(problem)}:{element}"


def tuned(gpu: str) -> dict[str, str]:
    """Return the choices that were measured on GPUs of this name."""
    if not TUNED.exists():
        return {}
    by_gpu: dict[str, dict[str, str]] = json.loads(TUNED.read_text(encoding="utf-8"))
    return by_gpu.get(gpu, {})


def order(matrix: Any) -> str:
    """Return "n" for a matrix whose rows are contiguous, "t" for its transpose, "" for neither.

    A column of contiguous elements is the transpose of a row, which TMA reads.
    """
    (rows, columns), (down, across) = matrix.shape, matrix.stride()
    if columns == 1 and down == 1 and rows > 1:
        return "t"
    if across == 1 or columns == 1:
        return "n" if rows == 1 or down >= columns else ""
    return "t" if (down == 1 or rows == 1) and across >= rows else ""


def _based(matrix: Any) -> bool:
    """Return whether address and pitch of a matrix with contiguous rows allow TMA."""
    rows, columns = matrix.shape
    pitch = matrix.stride(0) if rows > 1 else columns
    return bool(matrix.data_ptr() % 16 == 0 and (rows == 1 or pitch % CHUNK == 0))
