"""Give each channel of interleaved pixels its own curve; in the specimen lanes are channels.

Work: 32 million fp32 words, four channels a pixel; each channel iterates another formula 64 times.

Gives it away: 8 of 32 threads active per instruction, and a branch that splits every warp in four.
Quiet: loads and stores are coalesced; the four loops have equal lengths, so no lane waits for a
longer one; DRAM is far from its ceiling.

Healthy: a thread takes a whole pixel with one 16-byte load and computes its four channels in turn.
All lanes run the same formula.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, STEPS = 256, 64


def inputs(device: str, words: int) -> Inputs:
    """Return interleaved channels in [0, 1)."""
    return {"pixels": torch.rand(words, device=device)}


def curved(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch: a thread a word (sick) or a pixel."""
    pixels = inputs["pixels"]
    result = blank(pixels.numel(), like=pixels)
    threads = pixels.numel() // (1 if twin == "sick" else 4)
    kernel = Kernel(SOURCE, twin, "curves")
    return kernel.step((threads // THREADS,), (THREADS,), (pixels, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the four curves, each over all pixels at once."""
    first, second, third, fourth = (
        inputs["pixels"].view(-1, 4)[:, channel].clone() for channel in range(4)
    )
    for _ in range(STEPS):
        first = 0.75 * first + 0.2
        second = 1.5 * second * (1 - second)
        third = (0.9 * third - 0.4).abs()
        fourth = fourth - 0.1 * fourth * fourth * fourth
    return torch.stack([first, second, third, fourth], 1).flatten()


SPECIMEN = Specimen(
    inputs,
    curved,
    reference,
    tolerance=1e-4,
    sizes={"words": 1 << 25},
    small={"words": 1 << 10},
)
