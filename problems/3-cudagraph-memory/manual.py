"""Graphs recorded by hand, without Inductor."""

from collections.abc import Callable
from typing import Any

import torch


class Recorded:
    """A step that behaves as one of Inductor's: it runs once, then is recorded, then replayed."""

    def __init__(self, step: Callable[[], object]) -> None:
        self._step = step
        self._warm = False
        self._graph: Any = None

    def __call__(self) -> None:
        """Run, record or replay."""
        if not self._warm:
            self._step()
            self._warm = True
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._step()
        self._graph.replay()


def chain(nodes: int, device: str) -> Callable[[], None]:
    """Return a step that launches one small kernel ``nodes`` times and allocates nothing."""
    x = torch.zeros(1, device=device)

    def step() -> None:
        for _ in range(nodes):
            x.add_(1)

    return step
