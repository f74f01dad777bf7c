"""Carries a step's plan out: packs its inputs, launches the model, samples on the device."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from workloads.engine.model import Inputs, Model, Weights
from workloads.engine.options import Options
from workloads.engine.schedule import Plan, Request

FLIGHTS = 2
"""Steps whose inputs and tokens the host holds at once: one on the device, one being made."""
MULTIPROCESSORS = 132
"""Of an H100 SXM or H200 (NVIDIA's datasheets): attention is split until it fills them."""


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
        size = 3 * most + 5 * rows + 2 * rows * self.table_width
        self.packed = [_host(size, self.cuda) for _ in range(FLIGHTS)]
        self.read = [_host(rows, self.cuda) for _ in range(FLIGHTS)]
        self.free = [torch.cuda.Event() if self.cuda else None for _ in range(FLIGHTS)]
        self.launched = 0
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Tensor]] = {}

    def capture(self) -> None:
        """Capture the decode step of each batch size of the options; nothing on a CPU."""
        if not self.cuda:
            return
        pool = torch.cuda.graph_pool_handle()
        for rows in sorted(self.options.graph_batches, reverse=True):
            packed = torch.zeros(5 * rows, dtype=torch.int32, device=self.device)
            packed[4 * rows :] = 1
            inputs = self._single(packed, rows)
            for _ in range(2):
                self._sample(inputs)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                tokens = self._sample(inputs)
            self.graphs[rows] = graph, packed, tokens

    def launch(self, plan: Plan) -> Flight:
        """Launch a plan that has rows, and return at once."""
        self._copy_blocks(plan)
        at = self.launched % FLIGHTS
        self.launched += 1
        free = self.free[at]
        if free is not None:
            free.synchronize()
        single = plan.decodes == len(plan.rows)
        bucket = next((b for b in sorted(self.graphs) if b >= len(plan.rows)), 0) if single else 0
        tokens = self._step(plan, self.packed[at], bucket, single)
        read = self.read[at][: len(plan.rows)]
        read.copy_(tokens[: len(plan.rows)], non_blocking=True)
        if free is not None:
            free.record()
        sampling = [(row.request, at) for at, row in enumerate(plan.rows) if row.samples]
        return Flight(sampling, read, free)

    def _step(self, plan: Plan, host: Tensor, bucket: int, single: bool) -> Tensor:
        packed = self._pack(plan, host.numpy(), bucket, single)
        if bucket:
            graph, inputs, tokens = self.graphs[bucket]
            inputs.copy_(host[: 5 * bucket], non_blocking=True)
            self._update_tables(host[5 * bucket : packed])
            graph.replay()
            return tokens
        on_device = host[:packed].to(self.device, non_blocking=True)
        rows = len(plan.rows)
        if single:
            self._update_tables(on_device[5 * rows :])
            return self._sample(self._single(on_device[: 5 * rows], rows))
        return self._sample(self._mixed(on_device, plan))

    def _pack(self, plan: Plan, host: np.ndarray, bucket: int, single: bool) -> int:
        """Write a step's inputs to ``host``; return how many numbers they are."""
        rows = plan.rows
        padding = max(bucket - len(rows), 0)
        columns: list[list[int]] = [[], [], []]
        for row in rows:
            self._tokens_of(row.request, row.start, row.count, columns)
        slots = [row.request.slot for row in rows]
        ends = [row.start + row.count for row in rows]
        if single:
            parts = [*columns, slots, ends]
            parts = [
                part + [fill] * padding for part, fill in zip(parts, (0, 0, 0, 0, 1), strict=True)
            ]
        else:
            counts = [row.count for row in rows]
            firsts = np.cumsum([0, *counts[plan.decodes :]])
            parts = [*columns, slots, ends, np.cumsum(counts) - 1, firsts]
        parts.append(self._table_changes(plan))
        flat = np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
        host[: len(flat)] = flat
        return len(flat)

    def _tokens_of(
        self, request: Request, start: int, count: int, columns: list[list[int]]
    ) -> None:
        """Append ids (-1: the slot's last token), positions and places of a row's tokens."""
        ids, positions, places = columns
        known = len(request.prompt)
        for at in range(start, start + count):
            if at < known:
                ids.append(request.prompt[at])
            else:
                ids.append(request.output[at - known] if at - known < len(request.output) else -1)
        positions.extend(range(start, start + count))
        size = self.options.block
        places.extend(
            request.blocks[at // size] * size + at % size for at in range(start, start + count)
        )

    def _table_changes(self, plan: Plan) -> list[int]:
        """Return what the tables lack, as slot * width + index, then as many blocks."""
        where, blocks = [], []
        for row in plan.rows:
            request = row.request
            base = request.slot * self.table_width
            where.extend(range(base + request.tabled, base + len(request.blocks)))
            blocks.extend(request.blocks[request.tabled :])
            request.tabled = len(request.blocks)
        return where + blocks

    def _update_tables(self, changes: Tensor) -> None:
        if len(changes):
            where, blocks = changes.to(self.device, non_blocking=True).chunk(2)
            self.tables.view(-1)[where.long()] = blocks

    def _single(self, packed: Tensor, rows: int) -> Inputs:
        ids, positions, places, slots, ends = packed.view(5, rows)
        splits, none = _splits(rows, self.model.weights.shape.kv_heads), ends[:0]
        return Inputs(ids, positions, places, slots, ends, none, none, rows, 1, splits)

    def _mixed(self, packed: Tensor, plan: Plan) -> Inputs:
        tokens, rows, singles = plan.tokens, len(plan.rows), plan.decodes
        sizes = [tokens, tokens, tokens, rows, rows, rows, rows - singles + 1]
        *parts, changes = packed.split([*sizes, len(packed) - sum(sizes)])
        ids, positions, places, slots, ends, sampled, firsts = parts
        self._update_tables(changes)
        longest = max(row.count for row in plan.rows)
        splits = _splits(max(singles, 1), self.model.weights.shape.kv_heads)
        return Inputs(
            ids, positions, places, slots, ends, firsts, sampled.long(), singles, longest, splits
        )

    def _sample(self, inputs: Inputs) -> Tensor:
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


def _splits(rows: int, kv_heads: int) -> int:
    """Return into how many parts, a power of two, a row's keys are split to fill the device."""
    splits = 1
    while splits < 32 and rows * kv_heads * splits < 2 * MULTIPROCESSORS:
        splits *= 2
    return splits


def _host(size: int, cuda: bool) -> Tensor:
    return torch.zeros(size, dtype=torch.int32, pin_memory=cuda)


def _kernels(cuda: bool):  # noqa: ANN202 - a module
    if cuda:
        from workloads.engine import kernels

        return kernels
    from workloads.engine import reference

    return reference
