"""The device's memory at the end of each phase, stated as facts that end in the phase's name."""

import functools
import gc
from collections.abc import Iterator
from typing import Any

import torch
from accounting import (
    Storage,
    graph_parts,
    graph_pools,
    identity_error,
    live_in_graphs,
    parts,
    pools,
    ungraphed,
)
from recorder import Recorder, driver
from storages import distinct, leaves, total
from torch import nn

from harness.probe.cell import Cell

_COMPARED = ("replay", "shape")
"""Phases stated by every cell; a decoder's others take seconds each to look through."""


class Ledger:
    """States the memory of a cell, counted from before its first allocation on the device.

    The driver counts the whole device, other processes included. So its numbers are stated only by
    a cell that has the device to itself; torch's, of its own process, by every cell.
    """

    def __init__(self, cell: Cell, expected: int) -> None:
        self._cell, self._expected = cell, expected
        self._recorder = Recorder(driver())
        self._model: nn.Module | None = None
        self._baseline = 0
        if cell.device == "cuda":
            torch.cuda.init()
            torch.cuda.synchronize()
            self._baseline = _used()
            _prime()
            stream = lambda: torch.cuda.current_stream().cuda_stream  # noqa: E731 - a name for it
            held = lambda: live_in_graphs(_segments())  # noqa: E731 - another
            self._recorder.install(torch.cuda.CUDAGraph, stream, held)

    def weigh(self, model: nn.Module) -> None:
        """Count the parameters and buffers of ``model`` as the weights."""
        self._model = model

    def state(self, phase: str) -> None:
        """State every measured quantity at the end of ``phase``.

        A timing cell states only those phases that are compared among variants.
        """
        if self._cell.capture == "timing" and phase not in _COMPARED:
            return
        self._cell.synchronize()
        owned = [*self._model.parameters(), *self._model.buffers()] if self._model else []
        self._fact("weight_bytes", phase, total(owned))
        self._counted(phase)
        if self._cell.device == "cuda":
            self._allocated(phase, owned)

    def pool_after(self, step: str) -> None:
        """State the reserved bytes of the graphs' pools after ``step`` was recorded."""
        if self._cell.device == "cuda":
            self._cell.synchronize()
            graphs = graph_pools(pools(_segments()))
            self._fact("graph_reserved", step, graphs.reserved)

    def outside(self) -> int | None:
        """Return the driver's bytes of this process outside torch's pools; None if not alone."""
        if self._cell.device != "cuda" or not self._cell.alone:
            return None
        torch.cuda.synchronize()
        return _used() - self._baseline - torch.cuda.memory_reserved()

    def state_recording(self, before: int | None) -> None:
        """State the driver's bytes for the graphs recorded since."""
        after = self.outside()
        if before is not None and after is not None:
            self._cell.fact("record_outside", after - before, "B")

    def forget(self, steps: dict[str, Any]) -> None:
        """Drop every compiled function and every graph."""
        steps.clear()
        torch._dynamo.reset()  # with the trees of graphs
        self._recorder.forget()
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def state_peaks(self) -> None:
        """State peak memory since the weights were in place."""
        if self._cell.device == "cuda":
            self._cell.fact("peak_reserved", torch.cuda.max_memory_reserved(), "B")

    def _fact(self, name: str, phase: str, value: float, unit: str = "B") -> None:
        self._cell.fact(f"{name}.{phase}", value, unit)

    def _counted(self, phase: str) -> None:
        """State the numbers of compiled and recorded functions; fail if any lacks its graph."""
        counters = torch._dynamo.utils.counters
        self._fact("compiled", phase, counters["stats"]["unique_graphs"], "graphs")
        graphs, nodes = self._recorder.graphs, self._recorder.nodes
        if self._cell.device != "cuda" or graphs is None or nodes is None:
            return
        self._fact("graphs", phase, graphs, "graphs")
        self._fact("nodes", phase, nodes, "nodes")
        missing = ungraphed(self._expected, graphs, counters["inductor"]["cudagraph_skips"])
        if phase == "shape" and missing:  # by then all should be recorded
            raise SystemExit(f"{missing} of {self._expected} functions run without a CUDA graph")
        self._fact("static_copies", phase, sum(size for _, size in _inputs_and_outputs()[0]))

    def _allocated(self, phase: str, owned: list[Any]) -> None:
        """State the pools, and the pieces that all memory consists of."""
        segments, reserved = _segments(), torch.cuda.memory_reserved()
        outside = self.outside()
        graphs = graph_pools(pools(segments))
        alive = distinct(_alive())
        pieces = parts(segments, distinct(owned), alive, outside)
        inputs, outputs = _inputs_and_outputs()
        roles = graph_parts(segments, self._recorder.held, inputs, [*outputs, *alive])
        values = {
            "reserved": reserved,
            "allocated": torch.cuda.memory_allocated(),
            "graph_reserved": graphs.reserved,
            "graph_inputs": roles.inputs,
            "graph_outputs": roles.outputs,
            "graph_workspaces": roles.workspaces,
            "graph_dead": roles.dead,
            "other_live": pieces.other,
            "unowned": pieces.unowned,
            "default_slack": pieces.slack,
            "spare": pieces.slack + graphs.reserved,
        }
        if outside is not None:
            used = outside + reserved
            values |= {"used": used, "outside": outside}
            values |= {"identity_error": identity_error(pieces, used)}
        for name, value in values.items():
            self._fact(name, phase, value)


def _prime() -> None:
    """Record a small graph and make Inductor's input copies, so that their one-time loads are done.

    Else the driver would load them, and their bytes would count, while the studied graph records.
    """
    x = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    x.add_(1)
    with torch.cuda.graph(graph):
        x.add_(1)
    graph.replay()
    for dtype in (torch.bfloat16, torch.int64):
        pair = [torch.zeros(1, dtype=dtype, device="cuda") for _ in range(2)]
        torch._foreach_copy_(pair[:1], pair[1:])
    torch.cuda.synchronize()
    del x, graph, pair
    torch.cuda.empty_cache()


def _used() -> int:
    free, whole = torch.cuda.mem_get_info()
    return whole - free


def _segments() -> list[dict[str, Any]]:
    return torch.cuda.memory_snapshot(include_traces=False)


def _inputs_and_outputs() -> tuple[list[Storage], list[Storage]]:
    """Return the inputs that trees of graphs keep a copy of, and the outputs that they write."""
    from torch._inductor import cudagraph_trees

    manager = cudagraph_trees.get_manager(0, create_if_none_exists=False)
    nodes = list(manager.get_roots()) if manager else []
    inputs: list[Any] = []
    outputs: list[Storage] = []
    while nodes:
        node = nodes.pop()
        nodes += [child for children in node.children.values() for child in children]
        inputs += [node.reconstructed_inputs[index] for index in node.non_static_input_idx]
        written = [output for output in node.outputs_metadata if isinstance(output, dict)]
        outputs += [(output["data_ptr"], output["nbytes"]) for output in written]
    return distinct(tensor for tensor in inputs if isinstance(tensor, torch.Tensor)), outputs


def _alive() -> Iterator[torch.Tensor]:
    """Yield the plain tensors on the device that Python still knows."""
    plain = (torch.Tensor, nn.Parameter)  # not what the compiler traces with, which holds nothing

    @functools.cache
    def holds(kind: type) -> bool:
        wrapped = issubclass(kind, torch.Tensor) and hasattr(kind, "__tensor_flatten__")
        return kind in plain or wrapped

    for item in gc.get_objects():
        if holds(type(item)):
            yield from (leaf for leaf in leaves(item) if type(leaf) in plain and leaf.is_cuda)
