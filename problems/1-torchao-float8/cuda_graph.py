"""A step as one CUDA graph, captured whole, as serving engines run their decode steps."""

from collections.abc import Callable

import torch
from torch import Tensor

_WARM_UP = 3  # calls that compile, tune and allocate, none of which may happen during the capture


def captured(step: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return a function that replays ``step``'s kernels; its result is the same tensor each time.

    Unlike mode="reduce-overhead", which checks guards, takes weights apart and copies inputs before
    each replay, a replay runs no Python of the step.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay
