"""cuBLASLt as a baseline: every heuristic candidate is timed, instead of taking the first.

Through ctypes on the library that torch has loaded. A row-major product C = A @ B is the
column-major C' = B' @ A', so the operands change places and nothing is transposed. Reductions stay
in fp32 (the mask leaves out the output type), as torch does with
``allow_bf16_reduced_precision_reduction = False``.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

WORKSPACE_BYTES = 32 << 20
CUDA_TYPES = {"fp16": 2, "bf16": 14}  # CUDA_R_16F, CUDA_R_16BF
FLOAT32, COMPUTE_32F = 0, 68
PREFER_WORKSPACE, PREFER_REDUCTIONS = 1, 3
REDUCE_IN_PLACE_OR_FP32 = 1 | 2


class BlasError(Exception):
    """A cuBLASLt call failed; the message has its name and status."""


class Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


def library_path() -> str:
    """Return the path of the libcublasLt that this process has loaded, else of torch's wheel."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if "libcublasLt.so" in line:
            return line.split(maxsplit=5)[5]
    for folder in sys.path:
        for path in sorted(Path(folder or ".").glob("nvidia/*/lib/libcublasLt.so.*")):
            return str(path)
    raise BlasError("no libcublasLt: install torch with CUDA")


@cache
def library() -> ctypes.CDLL:
    """Return the library; import torch first so that it is torch's."""
    return ctypes.CDLL(library_path())


def call(name: str, *arguments: Any) -> None:
    """Call a cuBLASLt function; ``BlasError`` if it does not return success."""
    status = getattr(library(), name)(*arguments)
    if status:
        raise BlasError(f"{name}: status {status}")


@cache
def handle() -> ctypes.c_void_p:
    """Return this process's handle."""
    handle = ctypes.c_void_p()
    call("cublasLtCreate", ctypes.byref(handle))
    return handle


def _layout(element: str, rows: int, columns: int) -> ctypes.c_void_p:
    """Return a column-major layout without gaps."""
    handle = ctypes.c_void_p()
    call(
        "cublasLtMatrixLayoutCreate",
        ctypes.byref(handle),
        CUDA_TYPES[element],
        ctypes.c_uint64(rows),
        ctypes.c_uint64(columns),
        ctypes.c_int64(rows),
    )
    return handle


class Product:
    """C = A @ B of one shape and element type, with the algorithms of cuBLASLt's heuristic."""

    def __init__(self, element: str, m: int, n: int, k: int, count: int = 8) -> None:
        import torch

        self._operation = ctypes.c_void_p()
        handle = ctypes.byref(self._operation)
        call("cublasLtMatmulDescCreate", handle, COMPUTE_32F, FLOAT32)
        self._b = _layout(element, n, k)
        self._a = _layout(element, k, m)
        self._c = _layout(element, n, m)
        self._workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        self._one, self._zero = ctypes.c_float(1), ctypes.c_float(0)
        self.algorithms = self._candidates(count)

    def _candidates(self, limit: int) -> list[Heuristic]:
        preference = ctypes.c_void_p()
        call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        for which, value in (
            (PREFER_WORKSPACE, ctypes.c_uint64(WORKSPACE_BYTES)),
            (PREFER_REDUCTIONS, ctypes.c_uint32(REDUCE_IN_PLACE_OR_FP32)),
        ):
            size = ctypes.c_size_t(ctypes.sizeof(value))
            call(
                "cublasLtMatmulPreferenceSetAttribute", preference, which, ctypes.byref(value), size
            )
        candidates, count = (Heuristic * limit)(), ctypes.c_int()
        layouts = (self._b, self._a, self._c, self._c)
        call(
            "cublasLtMatmulAlgoGetHeuristic",
            handle(),
            self._operation,
            *layouts,
            preference,
            limit,
            candidates,
            ctypes.byref(count),
        )
        call("cublasLtMatmulPreferenceDestroy", preference)
        return [candidate for candidate in candidates[: count.value] if candidate.state == 0]

    def run(self, index: int, a: Any, b: Any, c: Any) -> None:
        """Launch algorithm ``index`` on torch's current stream."""
        import torch

        call(
            "cublasLtMatmul",
            handle(),
            self._operation,
            ctypes.byref(self._one),
            ctypes.c_void_p(b.data_ptr()),
            self._b,
            ctypes.c_void_p(a.data_ptr()),
            self._a,
            ctypes.byref(self._zero),
            ctypes.c_void_p(c.data_ptr()),
            self._c,
            ctypes.c_void_p(c.data_ptr()),
            self._c,
            ctypes.byref(self.algorithms[index].algorithm),
            ctypes.c_void_p(self._workspace.data_ptr()),
            ctypes.c_size_t(WORKSPACE_BYTES),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )

    def bound(self, index: int) -> Callable[[Any, Any, Any], None]:
        """Return algorithm ``index`` as a function of a, b and c."""
        return lambda a, b, c: self.run(index, a, b, c)
