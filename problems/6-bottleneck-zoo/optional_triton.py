"""Triton, where it is installed: torch for the CPU comes without it, and references need none."""

from typing import Any

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:

    class _Absent:
        """Lets kernels be defined; they cannot be launched."""

        constexpr = Any

        @staticmethod
        def jit(kernel: Any) -> Any:
            return kernel

    triton = tl = _Absent()

__all__ = ["tl", "triton"]
