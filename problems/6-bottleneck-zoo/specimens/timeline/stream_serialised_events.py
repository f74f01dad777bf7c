"""Run 4 independent chains on 4 streams; the specimen lets each stream wait for the one before.

Work: 4 chains of 8 running logarithms of summed exponentials along 16 rows of 131,072 fp32 words. A
row is scanned by one block, so a scan leaves nearly all multiprocessors idle.

Gives it away: kernels on 4 streams, no two of which ever overlap, although each fills a small part
of the GPU (its grid is a fraction of a wave).
Quiet: the host has enqueued everything early; no copies, no waits of the host, no idle GPU.

Healthy: the streams wait for nothing but the step's begin.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

CHAINS, SCANS = 4, 8


def inputs(device: str, rows: int, words: int) -> Inputs:
    """Return the first rows of each chain."""
    return {"x": torch.randn(CHAINS, rows, words, device=device)}


def chains(twin: str, inputs: Inputs) -> Step:
    """Return a step of all chains."""
    x = inputs["x"]
    result, other = torch.empty_like(x), torch.empty_like(x)
    streams = [torch.cuda.Stream() for _ in range(CHAINS)]
    done = [torch.cuda.Event() for _ in range(CHAINS)]

    def scan(chain: int, number: int) -> None:
        source, target = (result, other) if number % 2 == 0 else (other, result)
        torch.logcumsumexp(source[chain], 1, out=target[chain])

    def step() -> Tensor:
        main = torch.cuda.current_stream()
        result.copy_(x)
        for stream in streams:
            stream.wait_stream(main)
        for number in range(SCANS):
            for chain, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    if twin == "sick":
                        stream.wait_event(done[chain - 1])
                    scan(chain, number)
                    done[chain].record(stream)
        for stream in streams:
            main.wait_stream(stream)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the chains' ends, from fp64."""
    current = inputs["x"].double()
    for _ in range(SCANS):
        current = torch.logcumsumexp(current, 2)
    return current.float()


SPECIMEN = Specimen(
    inputs,
    chains,
    reference,
    tolerance=1e-3,
    sizes={"rows": 16, "words": 131072},
    small={"rows": 2, "words": 64},
)
