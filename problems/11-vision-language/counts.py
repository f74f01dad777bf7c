"""What torch dispatches for a block of the encoder: the host's work, and elementwise bytes."""

import math
from collections.abc import Callable
from typing import Any

import plans
import torch
from encoding import block_of, plan_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

GRIDS = ((1, 8, 24), (1, 8, 32))
"""Images of three and of four whole windows."""
_MOVES_NOTHING = {
    *("reshape", "transpose", "permute", "unbind", "unsqueeze", "slice", "split_with_sizes"),
    *("resolve_conj", "resolve_neg", "linear", "scaled_dot_product_attention"),
}
"""Operators that are views here, and products and attention, which are counted by operations."""


class Dispatched(TorchDispatchMode):
    """Counts the operators that are dispatched, and bytes that elementwise ones read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = 0
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and count it."""
        made = func(*args, **(kwargs or {}))
        self.operators += 1
        if func.overloadpacket.__name__ not in _MOVES_NOTHING:
            given = tree_flatten((args, kwargs, made))[0]
            self.bytes += sum(one.nbytes for one in given if isinstance(one, torch.Tensor))
        return made


def of_encoder(visual: Any, dtype: torch.dtype) -> dict[str, float]:
    """Return the counts that predict.py has as constants, of a block of ``visual``, by fact.

    ``dispatched.block``: operators of transformers' block beside its calls of attention;
    ``dispatched.call``: of each; ``dispatched.one-call``: of a block with one call; ``passes``: of
    it, (patches, width) of ``dtype`` that are read or written outside of products and attention.
    """
    block, width = visual.blocks[0], visual.config.hidden_size
    found = []
    for grid in GRIDS:
        plan = plan_of(visual, (grid,))
        hidden = torch.zeros(math.prod(grid), width, dtype=dtype, device=visual.device)
        lengths = torch.tensor([0, *plans.window_lengths(grid)]).cumsum(0).to(torch.int32)
        place = (plan.cos, plan.sin)
        own = {"cu_seqlens": lengths.to(visual.device), "position_embeddings": place}
        windows = _of(lambda hidden=hidden, own=own: block(hidden, **own))
        one = _of(
            lambda hidden=hidden, plan=plan: block_of(
                block, block.mlp, hidden, plan.cos, plan.sin, *plan.windows
            )
        )
        found.append((len(lengths) - 1, windows.operators, one, hidden.nbytes))
    (few, before, one, pass_bytes), (many, after, _, _) = found
    a_call = (after - before) / (many - few)
    return {
        "dispatched.block": before - few * a_call,
        "dispatched.call": a_call,
        "dispatched.one-call": one.operators,
        "passes": one.bytes / pass_bytes,
    }


def _of(work: Callable[[], object]) -> Dispatched:
    with Dispatched() as counted:
        work()
    return counted
