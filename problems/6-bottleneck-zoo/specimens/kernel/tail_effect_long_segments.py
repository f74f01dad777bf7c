"""Sum segments of unequal length, one program each; two long ones outlast the specimen's others.

Work: 8192 segments of 8192 fp32 words and two of 8 million at their end.

Gives it away: the busiest SM's active cycles are many times the mean: two programs run on when all
others have ended, so most SMs are idle for most of the kernel, though the grid has many waves.
Quiet: loads are coalesced; the grid is large; while all SMs work, DRAM is near its ceiling, and
over the whole kernel no unit is.

Healthy: segments are cut into pieces of 8192 words, one program for each, which add to their
segment's sum.
"""

import torch
from cuda_kernel import clear
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

PIECE = 8192


@triton.jit
def segment_sums(words, starts, sums, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Sum one segment a program; lengths are multiples of the block."""
    segment = tl.program_id(0)
    start = tl.load(starts + segment)
    end = tl.load(starts + segment + 1)
    total = tl.zeros((block,), dtype=tl.float32)
    for at in range(start, end, block):
        total += tl.load(words + at + tl.arange(0, block))
    tl.store(sums + segment, tl.sum(total))


@triton.jit
def piece_sums(words, segments, sums, piece_words: tl.constexpr, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Add one piece a program to its segment's sum, which starts at zero."""
    piece = tl.program_id(0)
    total = tl.zeros((block,), dtype=tl.float32)
    for at in range(0, piece_words, block):
        total += tl.load(words + piece * piece_words + at + tl.arange(0, block))
    tl.atomic_add(sums + tl.load(segments + piece), tl.sum(total), sem="relaxed")


def inputs(device: str, short: int, pieces: int) -> Inputs:
    """Return ``short`` segments of one piece and two of ``pieces``, and where each starts."""
    lengths = torch.tensor([1] * short + [pieces] * 2, device=device)
    starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]) * PIECE
    segments = torch.arange(len(lengths), device=device).repeat_interleave(lengths)
    words = torch.rand(int(starts[-1]), device=device)
    return {"words": words, "starts": starts.int(), "segments": segments.int()}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch, for the healthy twin after a memset."""
    words, starts, segments = inputs["words"], inputs["starts"], inputs["segments"]
    result = blank(starts.numel() - 1, like=words)

    def whole() -> Tensor:
        segment_sums[(result.numel(),)](words, starts, result, block=1024, num_warps=4)
        return result

    def in_pieces() -> Tensor:
        clear(result)
        grid = (segments.numel(),)
        piece_sums[grid](words, segments, result, piece_words=PIECE, block=1024, num_warps=4)
        return result

    return whole if twin == "sick" else in_pieces


def reference(inputs: Inputs) -> Tensor:
    """Return the sums of all pieces, added up by segment, in fp64."""
    pieces = inputs["words"].view(-1, PIECE).sum(1, dtype=torch.float64)
    sums = pieces.new_zeros(inputs["starts"].numel() - 1)
    return sums.index_add(0, inputs["segments"], pieces)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-4,
    sizes={"short": 8192, "pieces": 1024},
    small={"short": 4, "pieces": 3},
)
