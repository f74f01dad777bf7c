"""One training step of GPT-2 as the variants configure it."""

import contextlib
from collections.abc import Callable
from typing import Any

import text
import torch
from adamw import MasterAdamW
from chunked_loss import ChunkedLoss, to_gradient
from gpt2 import GPT2, build, named
from shapes import SHAPES
from torch import Tensor

LR, BETAS, DECAY, EPS = 3e-4, (0.9, 0.95), 0.1, 1e-6
"""EPS: the text uses a hundred of 50 257 rows. The gradients of all others are far below 1e-6; with
Adam's usual 1e-8 those rows move together as fast as any, and the loss jumps beyond chance's."""
PADDED_TO = 128
"""Rows of the embedding are a multiple of it where it is padded, as llm.c has them."""
_WARM = 3


class Training:
    """A model, its optimizer and a batch that stands in place; ``step`` is what is measured.

    Options: ``precision`` (autocast, or weights in bf16 with or without float32 masters), ``fused``
    (one kernel updates), ``padded`` (vocabulary), ``compile`` (in a ``mode``), ``chunks`` (of rows,
    in which head and loss are one function), ``kernels`` (problem 8's, for the head or for linear
    layers, too), ``gelu`` (with its bias by own kernels), ``sums`` (over rows, by the kernels that
    hold these), ``one_launch`` (updates all weights), ``one_reading`` (of the logits, by the loss),
    ``epilogues`` (of products, which do the work between them), ``graph`` (the whole step is one),
    ``warmup_steps`` (in which the learning rate grows). All are off if absent.
    """

    def __init__(self, params: dict[str, Any], device: str) -> None:
        self.options, self.device = params, device
        self.shape = SHAPES[params["model"]]
        rows = self.shape.vocabulary
        if params.get("padded"):
            rows = -(-rows // PADDED_TO) * PADDED_TO
        self.model = build(self.shape, rows, device)
        self.text = text.tokens()
        self.tokens, self.targets = self._batch(0)
        self.narrow = params["precision"] in ("masters", "bf16")
        wide = [weight.detach() for weight in self.model.parameters()]
        if self.narrow:
            self.model.bfloat16()
        self.optimizer = self._optimizer(params["precision"], wide)
        self._schedule = self._warmup()
        self._multiply, self._turn = torch.mm, to_gradient
        self._replace_parts()
        self._whole, self._trunk = self._functions()
        self._graph: torch.cuda.CUDAGraph | None = None
        self._loss: Tensor | None = None

    def load(self, number: int) -> None:
        """Put the batch of that number in place."""
        for kept, new in zip((self.tokens, self.targets), self._batch(number), strict=True):
            kept.copy_(new)

    def step(self) -> Tensor:
        """Run one step and return its loss; a graph's loss is overwritten by the next step."""
        if self._graph is not None and self._loss is not None:
            self._graph.replay()
            return self._loss
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self._schedule is not None:
            self._schedule.step()
        return loss.detach()

    def loss(self) -> Tensor:
        """Return the mean loss of the batch in place."""
        with self._context():
            chunks = self.options.get("chunks")
            if chunks is None:
                return self._whole(self.tokens, self.targets)
            hidden = self._trunk(self.tokens).flatten(0, 1)
            with named("loss"):
                weight, targets = self.model.tokens.weight, self.targets.flatten()
                return ChunkedLoss.apply(
                    hidden, weight, targets, chunks, self._multiply, self._turn
                )

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradients of the batch in place by name, in float32, without padding."""
        self.loss().backward()
        found = {
            name: weight.grad.float()
            for name, weight in self.model.named_parameters()
            if weight.grad is not None
        }
        found["tokens.weight"] = found["tokens.weight"][: self.shape.vocabulary]
        self.model.zero_grad(set_to_none=True)
        return found

    def settle(self) -> None:
        """Record the graph, if the options ask for one, once the first gradients have been."""
        if self.options.get("graph"):
            self._record()

    @torch.no_grad()
    def restart(self) -> None:
        """Put weights and the optimizer's state back to what they were before the first step."""
        rows = self.model.tokens.weight.shape[0]
        first = dict(build(self.shape, rows, self.device).named_parameters())
        for name, weight in self.model.named_parameters():
            weight.copy_(first[name])
            for kind, kept in self.optimizer.state[weight].items():
                kept.copy_(first[name]) if kind == "master" else kept.zero_()
        self._schedule = self._warmup()

    def _replace_parts(self) -> None:
        """Put kernels of this problem and of problem 8 where the options ask for them."""
        if "kernels" in self.options:
            from products import product, replace_linears

            self._multiply = product
            if self.options["kernels"] == "linears":
                replace_linears(self.model)
        if self.options.get("gelu"):
            import bias_gelu

            bias_gelu.fuse(self.model)
        if self.options.get("sums"):
            import sums

            sums.fuse(self.model)
        if self.options.get("epilogues"):
            import epilogues

            epilogues.fuse(self.model)
        if self.options.get("one_reading") and self.device == "cuda":
            import loss_once

            self._turn = loss_once.to_gradient

    def _record(self) -> None:
        """Record the step as one graph, on a stream whose steps compiled, loaded and reserved all.

        Problem 8's kernels keep modules and workspaces by stream, and a module cannot be loaded
        while a stream records.
        """
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            loss = self.step()
        self._graph, self._loss = graph, loss

    def _batch(self, number: int) -> tuple[Tensor, Tensor]:
        length = self.shape.context
        both = text.batch(self.text, number, self.options["batch"], length)
        return both[0].to(self.device), both[1].to(self.device)

    def _optimizer(self, precision: str, wide: list[Tensor]) -> Any:
        weights = self.model.parameters()
        if precision == "masters":
            warmup_steps = self.options.get("warmup_steps", 1)
            one_launch = bool(self.options.get("one_launch"))
            return MasterAdamW(
                weights, wide, LR, BETAS, DECAY, EPS, warmup_steps, one_launch=one_launch
            )
        fused = {"fused": True, "capturable": True} if self.options.get("fused") else {}
        return torch.optim.AdamW(weights, LR, BETAS, EPS, weight_decay=DECAY, **fused)

    def _warmup(self) -> torch.optim.lr_scheduler.LambdaLR | None:
        """Return the schedule of torch's optimizer; MasterAdamW keeps its own."""
        count = self.options.get("warmup_steps", 1)
        if count == 1 or isinstance(self.optimizer, MasterAdamW):
            return None
        group = self.optimizer.param_groups[0]
        group["lr"] = group["initial_lr"] = LR
        return torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda done: min(1.0, (done + 1) / count)
        )

    def _functions(self) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
        if not self.options.get("compile"):
            return self.model, self.model.trunk
        mode = self.options.get("mode")
        return torch.compile(self.model, mode=mode), torch.compile(self.model.trunk, mode=mode)

    def _context(self) -> contextlib.AbstractContextManager[object]:
        """Return autocast, if weights are in float32."""
        if self.narrow:
            return contextlib.nullcontext()
        return torch.autocast(self.device, dtype=torch.bfloat16)


def reference(training: Training) -> dict[str, Tensor]:
    """Return the gradients of the batch in place in float32 arithmetic, two rows at a time."""
    model: GPT2 = build(training.shape, training.shape.vocabulary, training.device)
    rows = training.tokens.shape[0]
    for start in range(0, rows, 2):
        part = slice(start, start + 2)
        count = training.tokens[part].shape[0]
        (model(training.tokens[part], training.targets[part]) * (count / rows)).backward()
    return {
        name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None
    }


def distance(found: dict[str, Tensor], right: dict[str, Tensor]) -> float:
    """Return the length of the difference of all gradients over that of the right ones."""
    apart = sum(float((found[name] - right[name]).double().square().sum()) for name in right)
    whole = sum(float(right[name].double().square().sum()) for name in right)
    return (apart / whole) ** 0.5


def worst_distance(found: dict[str, Tensor], right: dict[str, Tensor]) -> float:
    """Return the largest distance of a weight's gradient over the length of the right one.

    Of a gradient that is shorter than a thousandth of all, over that: a bias of keys changes no
    loss, so its right gradient is nothing but rounding.
    """
    lengths = {name: float(right[name].double().norm()) for name in right}
    least = sum(length**2 for length in lengths.values()) ** 0.5 / 1000
    return max(
        float((found[name] - right[name]).double().norm()) / max(length, least)
        for name, length in lengths.items()
    )
