"""Empties the L2 cache between steps, beside torch's allocator: its peaks stay the workload's."""

import ctypes

import torch

_TIMES = 3  # the cache's size: lines are not replaced strictly by age


class Flush:
    """Overwrites three times the L2's size, as nvbench and Triton's do_bench do; call it."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._words = _TIMES * torch.cuda.get_device_properties().L2_cache_size // 4
        self._buffer = ctypes.c_uint64()
        self._done(
            self._driver.cuMemAlloc_v2(ctypes.byref(self._buffer), ctypes.c_size_t(4 * self._words))
        )

    def __call__(self) -> None:
        """Queue the write on the current stream."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        words = ctypes.c_size_t(self._words)
        self._done(self._driver.cuMemsetD32Async(self._buffer, ctypes.c_uint(0), words, stream))

    def close(self) -> None:
        """Give the memory back, once the device is idle."""
        torch.cuda.synchronize()
        self._done(self._driver.cuMemFree_v2(self._buffer))

    @staticmethod
    def _done(status: int) -> None:
        if status:
            raise RuntimeError(f"the driver could not flush L2: CUDA error {status}")
