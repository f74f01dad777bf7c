"""Sum the gradients of 12 layers over 2 GPUs; the specimen sums them after the backward pass.

Work: 12 layers' gradients of 8192² bf16 words, each made by a product, summed over the GPUs.

Gives it away: NCCL kernels for a large part of the step with no other kernel beside them on the
same device.
Quiet: both GPUs have the same work and arrive together; the host is far ahead; no copies by the
host.

Healthy: each layer's gradient is summed on a second stream while the next layer's is made.
"""

import torch
from peers import GPUS, all_reduce, copies, wait_for_all
from specimen import Inputs, Specimen, Step
from torch import Tensor

LAYERS = 12


def inputs(device: str, side: int) -> Inputs:
    """Return the inputs of the gradients' products, [side, side] each, in bf16."""
    shape = (side, side)
    return {
        name: torch.randn(shape, device=device, dtype=torch.bfloat16) / side**0.5
        for name in ("x", "slope")
    }


def gradients(twin: str, inputs: Inputs) -> Step:
    """Return a step whose result is the mean of all layers' summed gradients."""
    x, slope = copies(inputs["x"]), copies(inputs["slope"])
    made = [[torch.empty_like(part) for part in x] for _ in range(LAYERS)]
    totals = [torch.empty_like(part) for part in x]
    side_streams = [torch.cuda.Stream(number) for number in range(GPUS)]

    def sick() -> Tensor:
        for parts in made:
            make(parts, x, slope)
        for parts in made:
            all_reduce(parts)
        return mean(made, totals)

    def healthy() -> Tensor:
        for parts in made:
            make(parts, x, slope)
            for device, stream in enumerate(side_streams):
                stream.wait_stream(torch.cuda.current_stream(device))
            all_reduce(parts, side_streams)
        for device, stream in enumerate(side_streams):
            torch.cuda.current_stream(device).wait_stream(stream)
        return mean(made, totals)

    return sick if twin == "sick" else healthy


def make(parts: list[Tensor], x: list[Tensor], slope: list[Tensor]) -> None:
    """Make a layer's gradient on each GPU."""
    for device, part in enumerate(parts):
        with torch.cuda.device(device):
            torch.mm(x[device].t(), slope[device], out=part)


def mean(made: list[list[Tensor]], totals: list[Tensor]) -> Tensor:
    """Return the mean over the layers on the first GPU; each GPU makes its own."""
    for device, total in enumerate(totals):
        with torch.cuda.device(device):
            total.zero_()
            for parts in made:
                total.add_(parts[device], alpha=1 / LAYERS)
    wait_for_all()
    return totals[0]


def reference(inputs: Inputs) -> Tensor:
    """Return one gradient times the number of GPUs, as all layers and GPUs make the same."""
    return torch.mm(inputs["x"].t(), inputs["slope"]) * GPUS


SPECIMEN = Specimen(
    inputs, gradients, reference, tolerance=3e-2, sizes={"side": 8192}, small={"side": 16}
)
