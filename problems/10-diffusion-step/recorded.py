"""A denoiser's step as profilers see it, with its modules and shapes; of a CUDA graph, its capture.

The replay of a graph says no operator and no module of its kernels: the launches that it was
captured from do. So under torch.profiler each step of the variant with a graph captures one and
replays it. Its kernels are those of a replay; the host's time is not.
"""

import models
import torch
import ways
from models import Inputs
from torch import Tensor

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    with torch.no_grad():
        cell = Cell.load(_imports)
        with cell.phase("load"):
            base = models.denoiser(cell.params, cell.device)
            given = models.inputs(cell.params, cell.device)
        way = ways.make(base, cell.params)
        with cell.phase("compile"):
            way.step(given)
        cell.settings |= {"stacks": True, "shapes": True}
        graph = cell.params.get("graph")
        cell.measure("step", lambda: replayed(way.step, given) if graph else way.step(given))
        cell.finish()


def replayed(step: ways.Step, given: Inputs) -> Tensor:
    """Return the output of a CUDA graph of ``step``, captured and replayed once."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = step(given)
    graph.replay()
    torch.cuda.synchronize()  # before the graph and its memory go
    return output


def _imports(params: dict[str, object]) -> None:  # noqa: ARG001 - what Cell.load calls
    """Import what every cell needs, beside others that measure."""
    import diffusers  # noqa: F401
    import torch._inductor.compile_fx  # noqa: F401


if __name__ == "__main__":
    main()
