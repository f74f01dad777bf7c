"""What a pass through memory takes at most: copies on the GPU, of several sizes."""

import math
from bisect import bisect_left
from dataclasses import dataclass

POOL_BYTES = 4 << 30
"""Memory that the copies rotate through, so that none finds its operands in L2."""
SIZES = tuple(round(2 ** (half / 2)) & -512 for half in range(48, 65))
"""Bytes that a copy reads and writes together: 16 MiB to 4 GiB."""
BATCHES = 5


@dataclass(frozen=True)
class Copies:
    """The µs of a copy among others that follow each other, by the bytes that it moves."""

    times: dict[int, float]

    @property
    def bandwidth(self) -> float:
        """The bytes per µs of the largest copy."""
        largest = max(self.times)
        return largest / self.times[largest]

    def us(self, moved: int) -> float:
        """Return the µs of a copy of any size, on a line between the logarithms of two."""
        sizes = sorted(self.times)
        place = min(max(bisect_left(sizes, moved), 1), len(sizes) - 1)
        low, high = sizes[place - 1], sizes[place]
        share = math.log(moved / low) / math.log(high / low)
        return self.times[low] * (self.times[high] / self.times[low]) ** share


def measure() -> Copies:
    """Time copies of every size in CUDA graphs, without the host's part; keep the fastest batch.

    A kernel copies, and inverts the bits: a graph's copy nodes reach two thirds of its bandwidth at
    sizes that are no powers of two, and at 512 MiB and more.
    """
    import torch

    pool = torch.zeros(POOL_BYTES // 4, dtype=torch.int32, device="cuda")

    def us(size: int) -> float:
        places, half = POOL_BYTES // size, size // 8
        graph, taken = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graph):
            for at in range(0, 2 * places * half, 2 * half):
                torch.bitwise_not(pool[at : at + half], out=pool[at + half : at + 2 * half])
        for _ in range(1 + BATCHES):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            taken.append(begin.elapsed_time(end) * 1e3 / places)
        return min(taken)

    return Copies({size: us(size) for size in SIZES})
