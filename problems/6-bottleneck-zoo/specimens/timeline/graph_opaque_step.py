"""Replay 20 layers from a CUDA graph; the specimen's graph is all that the timeline shows.

Work: 20 layers of 4096 → 4096 on 4,096 bf16 rows with an activation.

Gives it away: nsys traced graphs as a whole, so the step is one operation of several ms, and no
kernel inside it can be named.
Quiet: the host waits for nothing, nothing is copied; whether the kernels inside are fast, nobody
can tell from this capture: the diagnosis has to ask for --cuda-graph-trace=node.

Healthy: the same layers launched one by one; they are long enough that launches cost nothing.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

LAYERS = 20


def inputs(device: str, side: int, rows: int) -> Inputs:
    """Return rows and a weight that keeps their size."""
    turn, _ = torch.linalg.qr(torch.randn(side, side, device=device))
    return {
        "x": torch.randn(rows, side, device=device, dtype=torch.bfloat16),
        "turn": turn.to(torch.bfloat16),
    }


def layers(twin: str, inputs: Inputs) -> Step:
    """Return a step of 20 layers."""

    def healthy() -> Tensor:
        return forward(inputs["x"], inputs["turn"])

    if twin == "healthy":
        return healthy
    healthy()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = forward(inputs["x"], inputs["turn"])

    def sick() -> Tensor:
        graph.replay()
        return result

    return sick


def forward(x: Tensor, turn: Tensor) -> Tensor:
    """Return x after all layers."""
    for _ in range(LAYERS):
        x = torch.nn.functional.leaky_relu(torch.mm(x, turn), 0.9)
    return x


def reference(inputs: Inputs) -> Tensor:
    """Return the layers in the same precision, without a graph."""
    return forward(inputs["x"], inputs["turn"])


SPECIMEN = Specimen(
    inputs,
    layers,
    reference,
    tolerance=1e-2,
    sizes={"side": 4096, "rows": 4096},
    small={"side": 8, "rows": 8},
)
