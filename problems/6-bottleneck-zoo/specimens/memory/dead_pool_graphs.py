"""Keep CUDA graphs of 6 batch sizes, replay one; the specimen gives each graph its own pool.

Work: a layer of 4096 → 16384 → 4096 in bf16 on 2,048 rows, replayed from the graph of that size.

Gives it away: reserved bytes in five graph pools that nothing touches after their capture; each is
about as large as the pool in use.
Quiet: the default pool is small and whole; the level does not grow from step to step.

Healthy: the graphs share a pool, the largest captured first. Their results go to one buffer outside
of it, so that each graph finds the pool's memory free and whole.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

SIZES = 6


def inputs(device: str, side: int, rows: int) -> Inputs:
    """Return a layer's weights and rows for the largest batch."""
    wide = 4 * side
    return {
        "x": torch.randn(rows, side, device=device, dtype=torch.bfloat16),
        "up": torch.randn(side, wide, device=device, dtype=torch.bfloat16) / side**0.5,
        "down": torch.randn(wide, side, device=device, dtype=torch.bfloat16) / wide**0.5,
    }


def replayed(twin: str, inputs: Inputs) -> Step:
    """Return a step that replays the graph of the largest batch."""
    x = inputs["x"]
    result = torch.empty_like(layer(x, inputs))
    graphs: list[torch.cuda.CUDAGraph] = []
    for number in range(SIZES):
        graph = torch.cuda.CUDAGraph()
        pool = graphs[0].pool() if graphs and twin == "healthy" else None
        with torch.cuda.graph(graph, pool=pool):
            rows = len(x) - 64 * number
            layer(x[:rows], inputs, out=result[:rows])
        graphs.append(graph)

    def step() -> Tensor:
        graphs[0].replay()
        return result

    return step


def layer(x: Tensor, inputs: Inputs, out: Tensor | None = None) -> Tensor:
    """Return the layer's output, in ``out`` if given."""
    return torch.mm(torch.relu(torch.mm(x, inputs["up"])), inputs["down"], out=out)


def reference(inputs: Inputs) -> Tensor:
    """Return the layer's output in the same precision, without a graph."""
    return layer(inputs["x"], inputs)


SPECIMEN = Specimen(
    inputs,
    replayed,
    reference,
    tolerance=1e-2,
    sizes={"side": 4096, "rows": 2048},
    small={"side": 8, "rows": 512},
)
