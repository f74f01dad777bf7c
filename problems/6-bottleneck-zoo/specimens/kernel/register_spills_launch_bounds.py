"""Keep 48 moving averages per thread; the specimen is compiled for too few registers.

Work: a million series of 64 samples; each thread runs 48 exponential averages of one series and
loads eight samples ahead.

Gives it away: spill loads and stores to local memory (`__launch_bounds__(256, 8)` leaves 32
registers for 48 live values), and local memory's traffic through L1, many times that of global
memory; the launch's registers are exactly what the bound allows.
Quiet: occupancy is full (the bound's purpose); global accesses are coalesced; no branch, no shared
memory.

Healthy: no bound on the blocks an SM. 64 or more registers, a third of the warps, no local memory;
the fma pipe is the busiest.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, AVERAGES = 256, 48


def inputs(device: str, samples: int, series: int) -> Inputs:
    """Return samples by series; ``samples``: a multiple of 8."""
    return {"samples": torch.randn(samples, series, device=device)}


def averaged(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    samples = inputs["samples"]
    count, series = samples.shape
    result = blank(AVERAGES, series, like=samples)
    kernel = Kernel(SOURCE, twin, "averages")
    arguments = (samples, result, count, series)
    return kernel.step((series // THREADS,), (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return all averages of all series, sample by sample."""
    samples = inputs["samples"]
    keep = 1 - 1 / torch.arange(2, AVERAGES + 2, device=samples.device, dtype=torch.float32)
    averages = samples.new_zeros(AVERAGES, samples.shape[1])
    for sample in samples:
        averages.mul_(keep[:, None]).add_(sample)
    return averages


SPECIMEN = Specimen(
    inputs,
    averaged,
    reference,
    tolerance=1e-5,
    sizes={"samples": 64, "series": 1 << 20},
    small={"samples": 8, "series": 256},
)
