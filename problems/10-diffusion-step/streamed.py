"""Weights that wait in the host's memory and come block by block, as the block before computes."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

COPIED = 1 << 28
"""Bytes of the copy that measures the link: so many that starting it does not count."""


class Streamed:
    """Blocks that are called in order, again and again, and share two places on the device.

    A block's copy waits until the block before the last has computed, and its computation waits
    for its copy: the host waits for neither. ``bytes``: what one pass over all blocks copies.
    """

    def __init__(self, blocks: Sequence[nn.Module], device: str) -> None:
        self._blocks = list(blocks)
        self._on_gpu = device == "cuda"
        self._host = [self._flat(block) for block in self._blocks]
        self.bytes = sum(flat.nbytes for flat in self._host)
        longest = max(flat.numel() for flat in self._host)
        dtype = self._host[0].dtype
        self._places = [torch.empty(longest, dtype=dtype, device=device) for _ in range(2)]
        if self._on_gpu:
            self._stream = torch.cuda.Stream()
            self._copied = [torch.cuda.Event() for _ in self._blocks]
            self._freed = [torch.cuda.Event() for _ in self._places]
        for at, block in enumerate(self._blocks):
            self._point(block, self._places[at % 2])
            block.register_forward_pre_hook(lambda *_, at=at: self._enter(at))
            block.register_forward_hook(lambda *_, at=at: self._leave(at))
        self._copy(0)

    def _flat(self, block: nn.Module) -> Tensor:
        """Return the block's weights in one row on the host."""
        flat = torch.cat([weight.detach().flatten().cpu() for weight in block.parameters()])
        return flat.pin_memory() if self._on_gpu else flat

    def _point(self, block: nn.Module, place: Tensor) -> None:
        """Let the block's weights be parts of a place."""
        begin = 0
        for weight in block.parameters():
            weight.data = place[begin : begin + weight.numel()].view(weight.shape)
            begin += weight.numel()

    def _enter(self, at: int) -> None:
        """Wait for a block's weights, and begin to copy those of the next."""
        if self._on_gpu:
            torch.cuda.current_stream().wait_event(self._copied[at])
        if at + 1 < len(self._blocks):
            self._copy(at + 1)

    def _leave(self, at: int) -> None:
        """Free a block's place; after the last block, begin to copy the first."""
        if self._on_gpu:
            self._freed[at % 2].record()
        if at + 1 == len(self._blocks):
            self._copy(0)

    def _copy(self, at: int) -> None:
        """Copy a block's weights to its place once that is free."""
        host = self._host[at]
        place = self._places[at % 2][: host.numel()]
        if not self._on_gpu:
            place.copy_(host)
            return
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(self._freed[at % 2])
            place.copy_(host, non_blocking=True)
            self._copied[at].record()


def blocks_of(unet: nn.Module, share: float) -> list[nn.Module]:
    """Return transformer blocks of a UNet in the order of their calls, of a ``share`` of the bytes.

    The last ones of all: those between, on the way down, have their weights on the device.
    """
    order = [unet.down_blocks, unet.mid_block, unet.up_blocks]
    found = [
        part
        for parts in order
        if parts is not None
        for part in parts.modules()
        if type(part).__name__ == "BasicTransformerBlock"
    ]
    sizes = [sum(weight.nbytes for weight in block.parameters()) for block in found]
    most, taken = share * sum(sizes), 0
    kept: list[nn.Module] = []
    for block, size in reversed(list(zip(found, sizes, strict=True))):
        if taken + size > most and kept:
            break
        kept.append(block)
        taken += size
    return kept[::-1]


def layers_of(encoder: nn.Module) -> list[nn.Module]:
    """Return the layers of a text encoder."""
    return next(list(part) for part in encoder.modules() if isinstance(part, nn.ModuleList))


def to_device_gb_s(device: str) -> float:
    """Return GB/s of copies from pinned memory to the device, the best of several."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    source = torch.empty(COPIED, dtype=torch.uint8, pin_memory=True)
    target = torch.empty(COPIED, dtype=torch.uint8, device=device)
    times = []
    for _ in range(6):
        begin.record()
        target.copy_(source, non_blocking=True)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return COPIED / min(times) / 1e6
