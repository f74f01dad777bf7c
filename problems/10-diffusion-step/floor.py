"""The least time of a step: its products at the rate of a large one."""

import contextlib
from collections import Counter
from collections.abc import Iterator

import torch
from graphs import device_ms
from models import Inputs
from torch import Tensor
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from ways import Step

Shapes = Counter[tuple[tuple[int, ...], tuple[int, ...]]]
"""Query's and key's shapes (batch, heads, tokens, head), with the number of calls."""
_SIDE = 8192
"""Of the square product that measures the rate."""
_TIMES = 10


@contextlib.contextmanager
def listed() -> Iterator[Shapes]:
    """List the calls of scaled_dot_product_attention meanwhile, and compute none of them."""
    found: Shapes = Counter()
    real = functional.scaled_dot_product_attention

    def note(query: Tensor, key: Tensor, value: Tensor, *_: object, **__: object) -> Tensor:
        found[tuple(query.shape), tuple(key.shape)] += 1
        return torch.zeros(
            *query.shape[:-1], value.shape[-1], dtype=query.dtype, device=query.device
        )

    functional.scaled_dot_product_attention = note
    try:
        yield found
    finally:
        functional.scaled_dot_product_attention = real


def counted(step: Step, given: Inputs) -> tuple[int, int, Shapes]:
    """Return a step's floating-point operations: of all, of attention's products, and its calls."""
    with listed() as calls, FlopCounterMode(display=False) as counter:
        step(given)
    of_attention = sum(attention_flop(*shape) * count for shape, count in calls.items())
    return counter.get_total_flops() + of_attention, of_attention, calls


def attention_flop(query: tuple[int, ...], key: tuple[int, ...]) -> int:
    """Return the operations of both products of an attention without a mask."""
    batch, heads, tokens, head = query
    return 4 * batch * heads * tokens * key[2] * head


def product_rate(device: str, dtype: torch.dtype) -> float:
    """Return FLOP/s of a square product, its best of several runs in a row."""
    side = _SIDE if device == "cuda" else 256
    one, other = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    ms = min(device_ms(lambda: one @ other, device, 3) for _ in range(_TIMES))
    return 2 * side**3 / ms * 1e3
