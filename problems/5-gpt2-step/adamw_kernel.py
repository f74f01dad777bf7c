"""AdamW's kernels: read gradient, master and moments once, write master, moments and weight.

One takes a weight a launch, the other all: its programs find their weights in a table of addresses.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK, _BLOCK_OF_ALL = 4096, 1024
_ALIGNED = 16
"""What a weight's number of elements is a multiple of where all weights share a launch."""
_COLUMNS = tl.constexpr(7)
"""Of a weight's row in the table: the addresses of weight, gradient, master, mean, square and step,
and the number of elements."""


@triton.jit
def _update(  # noqa: ANN202
    weight,  # noqa: ANN001
    gradient,  # noqa: ANN001
    master,  # noqa: ANN001
    mean,  # noqa: ANN001
    square,  # noqa: ANN001
    step,  # noqa: ANN001
    highest_lr,  # noqa: ANN001
    warmup_steps,  # noqa: ANN001
    beta_1,  # noqa: ANN001
    beta_2,  # noqa: ANN001
    eps,  # noqa: ANN001
    decay,  # noqa: ANN001
    at,  # noqa: ANN001
    inside,  # noqa: ANN001
):
    done = tl.load(step)
    lr = highest_lr * tl.minimum(done / warmup_steps, 1.0)
    g = tl.load(gradient + at, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(mean + at, mask=inside, other=0.0)
    v = tl.load(square + at, mask=inside, other=0.0)
    w = tl.load(master + at, mask=inside, other=0.0)
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g * g
    unbiased = m / (1 - tl.exp(done * tl.log(beta_1)))
    root = tl.sqrt(v / (1 - tl.exp(done * tl.log(beta_2)))) + eps
    w = w * (1 - lr * decay) - lr * unbiased / root
    tl.store(mean + at, m, mask=inside)
    tl.store(square + at, v, mask=inside)
    tl.store(master + at, w, mask=inside)
    tl.store(weight + at, w.to(weight.dtype.element_ty), mask=inside)


@triton.jit
def _one(  # noqa: ANN202
    weight,  # noqa: ANN001
    gradient,  # noqa: ANN001
    master,  # noqa: ANN001
    mean,  # noqa: ANN001
    square,  # noqa: ANN001
    step,  # noqa: ANN001
    highest_lr,  # noqa: ANN001
    warmup_steps,  # noqa: ANN001
    beta_1,  # noqa: ANN001
    beta_2,  # noqa: ANN001
    eps,  # noqa: ANN001
    decay,  # noqa: ANN001
    count,  # noqa: ANN001
    block: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    _update(
        weight,
        gradient,
        master,
        mean,
        square,
        step,
        highest_lr,
        warmup_steps,
        beta_1,
        beta_2,
        eps,
        decay,
        at,
        at < count,
    )


@triton.jit
def _all(  # noqa: ANN202
    table,  # noqa: ANN001
    owners,  # noqa: ANN001
    firsts,  # noqa: ANN001
    highest_lr,  # noqa: ANN001
    warmup_steps,  # noqa: ANN001
    beta_1,  # noqa: ANN001
    beta_2,  # noqa: ANN001
    eps,  # noqa: ANN001
    decay,  # noqa: ANN001
    block: tl.constexpr,
):
    """``owners``, ``firsts``: of each program its weight's row, and that weight's first program."""
    program = tl.program_id(0)
    row = table + tl.load(owners + program) * _COLUMNS
    count = tl.multiple_of(tl.load(row + 6), 16)
    at = (program - tl.load(firsts + program)).to(tl.int64) * block + tl.arange(0, block)
    _update(
        _address(row, tl.bfloat16),
        _address(row + 1, tl.bfloat16),
        _address(row + 2, tl.float32),
        _address(row + 3, tl.float32),
        _address(row + 4, tl.float32),
        _address(row + 5, tl.float32),
        highest_lr,
        warmup_steps,
        beta_1,
        beta_2,
        eps,
        decay,
        at,
        at < count,
    )


@triton.jit
def _address(entry, element: tl.constexpr):  # noqa: ANN001, ANN202
    """Return the address that an entry of the table has; torch aligns tensors to 512 bytes."""
    return tl.multiple_of(tl.load(entry).to(tl.pointer_type(element)), 16)


def update(weight: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Any) -> None:
    """Update a weight, its master and its moments, all of one shape, contiguous."""
    count = weight.numel()
    tensors = weight, gradient.contiguous(), *_of(state)
    with torch.cuda.device(weight.device):
        _one[(triton.cdiv(count, _BLOCK),)](*tensors, *_numbers(group), count, block=_BLOCK)


class Together:
    """Updates weights in one launch, which one CUDA graph may hold.

    Raises ``ValueError`` for a weight whose number of elements is no multiple of 16.
    """

    def __init__(self, weights: Sequence[Tensor], states: Sequence[dict[str, Tensor]]) -> None:
        if any(weight.numel() % _ALIGNED for weight in weights):
            raise ValueError(f"a weight's elements are no multiple of {_ALIGNED}")
        self._weights, self._device = weights, weights[0].device
        self._rows = [
            [weight.data_ptr(), 0, *(each.data_ptr() for each in _of(state)), weight.numel()]
            for weight, state in zip(weights, states, strict=True)
        ]
        programs = [triton.cdiv(weight.numel(), _BLOCK_OF_ALL) for weight in weights]
        owners = [row for row, count in enumerate(programs) for _ in range(count)]
        begins = [0, *itertools.accumulate(programs)]
        self._owners, self._firsts = (
            torch.tensor(numbers, dtype=torch.int32, device=self._device)
            for numbers in (owners, [begins[row] for row in owners])
        )
        self._table = torch.tensor(self._rows, dtype=torch.int64, device=self._device)
        self._of_graph = torch.tensor(self._rows, dtype=torch.int64).pin_memory()
        """What a graph copies in every replay."""
        self._gradients: list[int] = []

    def __call__(self, group: Any) -> None:
        """Update the weights by their gradients."""
        gradients = [weight.grad.data_ptr() for weight in self._weights if weight.grad is not None]
        if gradients != self._gradients:
            for row, address in zip(self._rows, gradients, strict=True):
                row[1] = address
            self._load_table()
            self._gradients = gradients
        with torch.cuda.device(self._device):
            _all[(len(self._owners),)](
                *(self._table, self._owners, self._firsts), *_numbers(group), block=_BLOCK_OF_ALL
            )

    def _load_table(self) -> None:
        rows = torch.tensor(self._rows, dtype=torch.int64)
        if torch.cuda.is_current_stream_capturing():
            pinned = self._of_graph.copy_(rows)
        else:  # a copy that still waits reads the memory of its own table
            pinned = rows.pin_memory()
        self._table.copy_(pinned, non_blocking=True)


def _of(state: dict[str, Tensor]) -> tuple[Tensor, ...]:
    return state["master"], state["mean"], state["square"], state["step"]


def _numbers(group: Any) -> tuple[float, ...]:
    """Return the kernels' arguments of a group, in their order."""
    warmup_steps = float(group["warmup_steps"])
    return group["lr"], warmup_steps, *group["betas"], group["eps"], group["weight_decay"]
