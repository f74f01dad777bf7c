"""Everything that cuBLASLt proposes for a product: many candidates, for several workspace sizes.

The heuristic is asked once for each workspace size, and candidates that it returns twice count
once. All of them are contenders, so the library has as many tries as the kernels here.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from ladder import (
    COMPUTE_32F,
    CUDA_TYPES,
    FLOAT32,
    PREFER_REDUCTIONS,
    PREFER_WORKSPACE,
    REDUCE_IN_PLACE_OR_FP32,
    BlasError,
    Heuristic,
    call_cublaslt,
    handle,
)
from plans import Problem

ASKED = 128
"""Candidates to ask for at each workspace size; the heuristic returns fewer."""
WORKSPACES = (0, 4 << 20, 32 << 20, 256 << 20)
"""Bytes; torch gives 32 MiB on Hopper."""
TRANSPOSE_A, TRANSPOSE_B, TRANSPOSED = 3, 4, 1  # CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB, CUBLAS_OP_T


class Pool:
    """C = A @ B of one problem, with the distinct candidates of all workspace sizes.

    A row-major product C = A @ B is the column-major C' = B' @ A': the operands change places.
    """

    def __init__(self, element: str, problem: Problem) -> None:
        import torch

        self._operation = ctypes.c_void_p()
        pointer = ctypes.byref(self._operation)
        call_cublaslt("cublasLtMatmulDescCreate", pointer, COMPUTE_32F, FLOAT32)
        a, b, c = problem.stored
        for attribute, letter in (
            (TRANSPOSE_A, problem.layout[1]),
            (TRANSPOSE_B, problem.layout[0]),
        ):
            if letter == "t":
                self._set(attribute, TRANSPOSED)
        self._layouts = [_layout(element, *sizes) for sizes in (b, a, c, c)]
        self._workspace = torch.empty(max(WORKSPACES), dtype=torch.uint8, device="cuda")
        self._one, self._zero = ctypes.c_float(1), ctypes.c_float(0)
        found = {
            bytes(candidate.algorithm): (candidate, size)
            for size in reversed(WORKSPACES)
            for candidate in self._candidates(size)
        }
        self.candidates = list(found.values())
        """Candidates, each with the least workspace size at which it was proposed."""

    def able(self, operands: tuple[Any, Any, Any]) -> list[int]:
        """Return the candidates that run; the heuristic also proposes some that refuse."""
        import torch

        able = []
        for index in range(len(self.candidates)):
            try:
                self.run(index)(*operands)
            except BlasError:
                continue
            able.append(index)
        torch.cuda.synchronize()
        return able

    def run(self, index: int) -> Callable[[Any, Any, Any], None]:
        """Return a candidate as a function of a, b and c, on torch's current stream."""
        import torch

        candidate, size = self.candidates[index]
        algorithm = ctypes.byref(candidate.algorithm)
        memory = ctypes.c_void_p(self._workspace.data_ptr())
        b_layout, a_layout, c_layout, d_layout = self._layouts

        def product(a: Any, b: Any, c: Any) -> None:
            call_cublaslt(
                "cublasLtMatmul",
                handle(),
                self._operation,
                ctypes.byref(self._one),
                ctypes.c_void_p(b.data_ptr()),
                b_layout,
                ctypes.c_void_p(a.data_ptr()),
                a_layout,
                ctypes.byref(self._zero),
                ctypes.c_void_p(c.data_ptr()),
                c_layout,
                ctypes.c_void_p(c.data_ptr()),
                d_layout,
                algorithm,
                memory,
                ctypes.c_size_t(size),
                ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
            )

        return product

    def _set(self, attribute: int, value: int) -> None:
        number = ctypes.c_int32(value)
        size = ctypes.c_size_t(ctypes.sizeof(number))
        call_cublaslt(
            "cublasLtMatmulDescSetAttribute", self._operation, attribute, ctypes.byref(number), size
        )

    def _candidates(self, workspace: int) -> list[Heuristic]:
        preference = ctypes.c_void_p()
        call_cublaslt("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        for which, value in (
            (PREFER_WORKSPACE, ctypes.c_uint64(workspace)),
            (PREFER_REDUCTIONS, ctypes.c_uint32(REDUCE_IN_PLACE_OR_FP32)),
        ):
            size = ctypes.c_size_t(ctypes.sizeof(value))
            call_cublaslt(
                "cublasLtMatmulPreferenceSetAttribute", preference, which, ctypes.byref(value), size
            )
        candidates, count = (Heuristic * ASKED)(), ctypes.c_int()
        call_cublaslt(
            "cublasLtMatmulAlgoGetHeuristic",
            handle(),
            self._operation,
            *self._layouts,
            preference,
            ASKED,
            candidates,
            ctypes.byref(count),
        )
        call_cublaslt("cublasLtMatmulPreferenceDestroy", preference)
        return [candidate for candidate in candidates[: count.value] if candidate.state == 0]


def _layout(element: str, rows: int, columns: int) -> ctypes.c_void_p:
    """Return the column-major layout of a row-major matrix: columns by rows."""
    created = ctypes.c_void_p()
    call_cublaslt(
        "cublasLtMatrixLayoutCreate",
        ctypes.byref(created),
        CUDA_TYPES[element],
        ctypes.c_uint64(columns),
        ctypes.c_uint64(rows),
        ctypes.c_int64(columns),
    )
    return created
