"""Carries a step's plan out: packs its inputs, launches the model, samples on the device."""

from dataclasses import dataclass

import torch
from torch import Tensor
from workloads.engine.model import How, Inputs, Model, Weights
from workloads.engine.options import Options
from workloads.engine.pack import Form, form_of, packed
from workloads.engine.schedule import Plan, Request

FLIGHTS = 2
"""Steps whose inputs and tokens the host holds at once: one on the device, one being made."""
PROMPTS = 4
"""Prompts that a captured step computes tokens of; a step with more runs without its graph."""


@dataclass
class Graph:
    """A captured step: what it reads, the tokens it makes, and how its fused products run."""

    form: Form
    inputs: Tensor
    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    fused: dict[str, How]


@dataclass
class Flight:
    """A launched step: whose tokens it makes, and where they will be."""

    sampling: list[tuple[Request, int]]
    tokens: Tensor
    done: torch.cuda.Event | None

    def read(self) -> list[int]:
        """Wait for the step, and return a token for each request of ``sampling``."""
        if self.done is not None:
            self.done.synchronize()
        values = self.tokens.tolist()
        return [values[row] for _, row in self.sampling]


class Runner:
    """Weights, cache, block tables and CUDA graphs on one device.

    ``blocks``: of the cache, block 0 not counted; ``most_tokens``: of one request, or of one step.
    ``graphs``: captured steps of decodes, by batch; ``mixed``: with tokens of prompts beside them.
    """

    def __init__(
        self,
        weights: Weights,
        options: Options,
        blocks: int,
        most_tokens: int,
        host_blocks: int = 0,
    ) -> None:
        shape, self.options, self.device = weights.shape, options, weights.embedding.device
        self.cuda = self.device.type == "cuda"
        parts = (shape.kv_heads, options.block, shape.head)
        caches = torch.zeros(
            shape.layers, 2, blocks + 1, *parts, dtype=weights.embedding.dtype, device=self.device
        )
        self.saved = torch.zeros(
            shape.layers, 2, host_blocks + 1, *parts, dtype=caches.dtype, pin_memory=self.cuda
        )
        self.table_width = -(-most_tokens // options.block)
        rows = options.most_running + 1  # slot 0 is padding's
        self.tables = torch.zeros(rows, self.table_width, dtype=torch.int32, device=self.device)
        self.last = torch.zeros(rows, dtype=torch.int32, device=self.device)
        self.model = Model(weights, caches, self.tables, _kernels(self.cuda), options.fused)
        most = options.token_budget + most_tokens * (rows if options.batching == "static" else 1)
        most_rows = max(rows, *options.graph_batches, 0) + PROMPTS
        size = sum(Form(most_rows, most, 0, 0).sizes) + 2 * rows * self.table_width
        self.packed = [_host(size, self.cuda) for _ in range(FLIGHTS)]
        self.read = [_host(most_rows, self.cuda) for _ in range(FLIGHTS)]
        self.free = [torch.cuda.Event() if self.cuda else None for _ in range(FLIGHTS)]
        self.launched = 0
        self.graphs: dict[int, Graph] = {}
        self.mixed: dict[int, Graph] = {}

    def launch(self, plan: Plan) -> Flight:
        """Launch a plan that has rows, and return at once."""
        self._copy_blocks(plan)
        at = self.launched % FLIGHTS
        self.launched += 1
        free = self.free[at]
        if free is not None:
            free.synchronize()
        graph = self._graph_of(plan)
        form = graph.form if graph else form_of(plan)
        numbers = packed(plan, form, self.options.block, self.table_width)
        host = self.packed[at][: len(numbers)]
        host.numpy()[:] = numbers
        tokens = self._step(host, form, graph)
        read = self.read[at][: form.rows]
        read.copy_(tokens, non_blocking=True)
        if free is not None:
            free.record()
        places = zip(plan.rows, form.places(plan), strict=True)
        return Flight([(row.request, place) for row, place in places if row.samples], read, free)

    def _graph_of(self, plan: Plan) -> Graph | None:
        """Return the graph of the smallest batch that the step fits in, if one was captured."""
        prompts = len(plan.rows) - plan.decodes
        if prompts > PROMPTS:
            return None
        graphs = self.mixed if prompts else self.graphs
        fitting = [rows for rows in graphs if rows >= plan.decodes]
        graph = graphs[min(fitting)] if fitting else None
        return graph if graph and plan.tokens <= graph.form.tokens else None

    def _step(self, host: Tensor, form: Form, graph: Graph | None) -> Tensor:
        own = sum(form.sizes)
        changes = host[own:].to(self.device, non_blocking=True)
        if len(changes):
            where, blocks = changes.chunk(2)
            self.tables.view(-1)[where.long()] = blocks
        if graph is None:
            on_device = host[:own].to(self.device, non_blocking=True)
            return self.sample(self.inputs(on_device, form))
        graph.inputs.copy_(host[:own], non_blocking=True)
        graph.graph.replay()
        return graph.tokens

    def inputs(self, numbers: Tensor, form: Form) -> Inputs:
        """Return views of a step's numbers."""
        return Inputs(*numbers.split(form.sizes), form.singles, form.longest)

    def sample(self, inputs: Inputs) -> Tensor:
        """Compute the step, and return each row's next token, kept as its slot's last."""
        slots = inputs.slots.long()
        if inputs.singles:
            at = inputs.ids[: inputs.singles]
            at.copy_(torch.where(at < 0, self.last[slots[: inputs.singles]], at))
        logits = self.model.logits(inputs)
        if self.options.temperature:
            drawn = torch.empty_like(logits, dtype=torch.float32).exponential_()
            logits = logits.float() / self.options.temperature - drawn.log()
        tokens = logits.argmax(-1).int()
        self.last[slots] = tokens
        return tokens

    def _copy_blocks(self, plan: Plan) -> None:
        caches = self.model.caches
        for block, host in plan.saves:
            self.saved[:, :, host].copy_(caches[:, :, block], non_blocking=True)
        for host, block in plan.loads:
            caches[:, :, block].copy_(self.saved[:, :, host], non_blocking=True)


def _host(size: int, cuda: bool) -> Tensor:
    return torch.zeros(size, dtype=torch.int32, pin_memory=cuda)


def _kernels(cuda: bool):  # noqa: ANN202 - a module
    if cuda:
        from workloads.engine import kernels

        return kernels
    from workloads.engine import reference

    return reference
