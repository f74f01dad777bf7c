"""Steps as CUDA graphs of their own, and GPU time without a host that launches kernels."""

import time
from collections.abc import Callable

import torch
from models import Inputs, mapped, tensors
from torch import Tensor
from ways import Step

_WARM = 2
"""Calls before a capture: they load kernels and let libraries take their workspaces."""


class Captured:
    """A step that one launch replays; a call copies its inputs to where the capture read them."""

    def __init__(self, step: Step, given: Inputs) -> None:
        self._given = mapped(given, torch.clone)
        self.graph, self._output = capture(lambda: step(self._given))

    def __call__(self, given: Inputs) -> Tensor:
        """Return the step's output, which the next call overwrites."""
        for own, new in zip(tensors(self._given), tensors(given), strict=True):
            own.copy_(new)
        self.graph.replay()
        return self._output


def capture(work: Callable[[], Tensor]) -> tuple[torch.cuda.CUDAGraph, Tensor]:
    """Return a graph of ``work``, with a pool of its own, and the output that it writes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = work()
    return graph, output


def replay_ms(graph: torch.cuda.CUDAGraph, count: int = 2) -> float:
    """Return the GPU's ms of a replay, of so many in a row."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(count):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def device_ms(work: Callable[[], Tensor], device: str, calls: int) -> float:
    """Return the device's ms of ``work``: of a graph of so many calls; on a CPU the wall time."""

    def several() -> Tensor:
        for _ in range(calls - 1):
            work()
        return work()

    if device == "cuda":
        graph, _ = capture(several)
        graph.replay()
        return replay_ms(graph) / calls
    several()
    begun = time.perf_counter()
    several()
    return (time.perf_counter() - begun) * 1e3 / calls
