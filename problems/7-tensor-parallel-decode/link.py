"""What the link between the GPUs reaches, measured in the process whose exchanges it bounds."""

import torch
from driver import Kernel
from peer import Arena, epochs

_PUSH_BYTES = 64 << 20
_PUSHES = 10
_GRIDS = (32, 64, 132, 264)
_THREADS = 512
ROUNDS, SAMPLES = 200, 20
_APART = 17 * 256
"""Bytes between the flags of two samples: where a flag lies changes its way by some percent."""
_US_OF_NS = 1e-3


class Link:
    """Signals there and back, and bytes written while the other rank writes as many."""

    def __init__(self, rank: int, arena: Arena) -> None:
        self._rank = rank
        self._pings = {fenced: epochs(1) for fenced in (False, True)}
        self._flags = {fenced: arena.take((SAMPLES + 2) * _APART) for fenced in (False, True)}
        self._word = arena.take(256)
        self._window = arena.take(_PUSH_BYTES)
        self._ping_pong = Kernel("link", "ping_pong")
        self._push = Kernel("link", "push")

    def measured(self) -> dict[str, list[float]]:
        """Return samples: signal_us and fenced_us, one way; gb_s, sent while as much arrives."""
        grid = max(_GRIDS, key=lambda blocks: max(self._pushed(blocks, 3)))
        return {
            "signal_us": self._one_way(fenced=False),
            "fenced_us": self._one_way(fenced=True),
            "gb_s": self._pushed(grid, SAMPLES),
        }

    def _one_way(self, *, fenced: bool) -> list[float]:
        """Return half the time there and back, in µs, a sample of ``ROUNDS`` each."""
        ns = torch.zeros(SAMPLES, dtype=torch.int64, device="cuda")
        flag = self._flags[fenced]
        arguments = [flag.theirs, flag.mine, self._word.theirs, self._pings[fenced], ns]
        how = [ROUNDS, SAMPLES, self._rank, int(fenced), _APART // 4]
        self._ping_pong((1,), 1, [*arguments, *how])
        return [_US_OF_NS * each / (2 * ROUNDS) for each in ns.tolist()]

    def _pushed(self, blocks: int, samples: int) -> list[float]:
        """Return GB/s by which this rank wrote to the other one."""
        data = torch.empty(_PUSH_BYTES, dtype=torch.uint8, device="cuda").random_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        rates = []
        for _ in range(samples):
            begin.record()
            for _ in range(_PUSHES):
                self._push((blocks,), _THREADS, [data, self._window.theirs, _PUSH_BYTES // 16])
            end.record()
            end.synchronize()
            rates.append(_PUSHES * _PUSH_BYTES / begin.elapsed_time(end) / 1e6)
        return rates
