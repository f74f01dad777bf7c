"""Run 4 independent chains on 4 streams; the sick twin lets each stream wait for the one before.

Work: 4 chains of 24 products of 512² fp32 matrices. A product has far fewer blocks than the GPU has
multiprocessors.

Gives it away: kernels on 4 streams, no two of which ever overlap, although each fills a small part
of the GPU (its grid is a fraction of a wave).
Quiet: the host has enqueued everything early; no copies, no waits of the host, no idle GPU.

Healthy: the streams wait for nothing but the step's begin.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

CHAINS, PRODUCTS = 4, 24


def inputs(device: str, side: int) -> Inputs:
    """Return the chains' first matrices, and the orthogonal matrix that multiplies them."""
    turn, _ = torch.linalg.qr(torch.randn(side, side, device=device))
    return {"turn": turn.contiguous(), "x": torch.randn(CHAINS, side, side, device=device)}


def chains(twin: str, inputs: Inputs) -> Step:
    """Return a step of all chains."""
    turn, x = inputs["turn"], inputs["x"]
    result = torch.empty_like(x)
    other = torch.empty_like(x)
    streams = [torch.cuda.Stream() for _ in range(CHAINS)]
    done = [torch.cuda.Event() for _ in range(CHAINS)]

    def product(chain: int, number: int) -> None:
        source, target = (result, other) if number % 2 == 0 else (other, result)
        torch.mm(turn, source[chain], out=target[chain])

    def step() -> Tensor:
        main = torch.cuda.current_stream()
        result.copy_(x)
        for stream in streams:
            stream.wait_stream(main)
        for number in range(PRODUCTS):
            for chain, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    if twin == "sick":
                        stream.wait_event(done[chain - 1])
                    product(chain, number)
                    done[chain].record(stream)
        for stream in streams:
            main.wait_stream(stream)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the chains' ends, from fp64."""
    turn, current = inputs["turn"].double(), inputs["x"].double()
    for _ in range(PRODUCTS):
        current = torch.matmul(turn, current)
    return current.float()


SPECIMEN = Specimen(
    inputs,
    chains,
    reference,
    tolerance=1e-2,
    sizes={"side": 512},
    small={"side": 8},
)
