"""Reads the multiprocessors' own counters of cycles and time, by a kernel of this problem."""

import ctypes
from pathlib import Path

from build import CACHE, build
from launch import Launch, LaunchConfig, load, multiprocessors
from steps import COUNTERS

from harness.probe.sm_clock import between

MOST = 1024
"""Capacity in multiprocessors; their ids may have gaps."""


class Clocks:
    """Reads the counters at a begin and at an end, on torch's current stream."""

    def __init__(self, cache: Path = CACHE) -> None:
        import torch

        function = load(build(COUNTERS, cache=cache).cubin, COUNTERS)
        self._counted = torch.zeros(2, MOST, 2, dtype=torch.int64, device="cuda")
        sizes = (multiprocessors(), 1, 1), (COUNTERS.threads, 1, 1), COUNTERS.shared_bytes
        self._marks = []
        for half in range(2):
            address = ctypes.c_void_p(self._counted[half].data_ptr())
            arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
            self._marks.append(Launch(function, LaunchConfig(*sizes), arguments, [address]))

    def mark(self, end: bool) -> None:
        """Enqueue a read of the counters on the stream; returns at once."""
        import torch

        if not end:
            self._counted.zero_()  # of a multiprocessor that one of the two misses nothing counts
        self._marks[int(end)](torch.cuda.current_stream().cuda_stream)

    def mhz(self) -> float:
        """Wait for the end and return the mean clock from begin to end, in MHz."""
        begin, end = self._counted.tolist()
        return between(begin, end)
