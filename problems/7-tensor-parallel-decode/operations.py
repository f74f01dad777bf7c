"""What lies between the products of a layer: RoPE with the cache, SwiGLU, residual and RMSNorm.

Two classes with the same methods: in plain torch, which any device runs, and as one kernel each.
Both round to bf16 at the same places.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from driver import Kernel
from sharding import Layer
from torch import Tensor
from workloads.decoder import rotate

EPSILON = 1e-5
PARTS, NORM_THREADS = 8, 256
NORM_WIDTH = 4 * PARTS * NORM_THREADS
"""The width that add_norm.cu is written for."""
_SWIGLU_THREADS = 256


class Plain:
    """The operations in torch."""

    def rope_store(self, qkv: Tensor, layer: Layer, rope: Tensor, position: int) -> Tensor:
        """Rotate queries and keys, store keys and values; return queries, [batch, kv, group, head].

        ``qkv``: [batch, (heads + 2 kv) head]; ``rope``: [head / 2, 2], of the position.
        """
        batch, kv, _, head = layer.keys.shape
        heads = qkv.view(batch, -1, head)
        queries, keys, values = heads.split([heads.shape[1] - 2 * kv, kv, kv], dim=1)
        layer.keys[:, :, position] = self._rotated(keys, rope)
        layer.values[:, :, position] = values
        return self._rotated(queries, rope).view(batch, kv, -1, head)

    def _rotated(self, heads: Tensor, rope: Tensor) -> Tensor:
        return rotate(heads[:, None], rope[None])[:, 0]

    def swiglu(self, gate_up: Tensor) -> Tensor:
        """Return silu(gate) * up, [batch, hidden], of [batch, 2 hidden]."""
        gate, up = gate_up.chunk(2, dim=-1)
        return F.silu(gate) * up

    def add_norm(self, partial: Tensor, residual: Tensor, weight: Tensor) -> Tensor:
        """Add ``partial`` to ``residual`` in place; return its RMSNorm, [batch, width].

        ``partial``: [batch, width], or [chunks, batch, width / chunks].
        """
        residual += partial if partial.dim() == 2 else torch.cat(partial.unbind(), -1)
        return norm(residual, weight)


class Fused(Plain):
    """The operations as kernels; widths other than ``NORM_WIDTH`` have none."""

    def __init__(self) -> None:
        self._rope_store = Kernel("local", "rope_store")
        self._swiglu = Kernel("local", "swiglu")
        self._add_norm = Kernel("add_norm", "add_norm")

    def rope_store(self, qkv: Tensor, layer: Layer, rope: Tensor, position: int) -> Tensor:
        """Do as ``Plain`` does; the queries are rotated in place."""
        batch, kv, context, head = layer.keys.shape
        heads = qkv.shape[1] // head - 2 * kv
        tensors = (qkv, rope, layer.keys, layer.values)
        self._rope_store(
            (heads + 2 * kv, batch), head // 2, (*tensors, heads, kv, context, position)
        )
        return qkv[:, : heads * head].view(batch, kv, -1, head)

    def swiglu(self, gate_up: Tensor) -> Tensor:
        """Do as ``Plain`` does."""
        batch, pairs = gate_up.shape[0], gate_up.shape[1] // 4
        out = gate_up.new_empty(batch, 2 * pairs)
        blocks = -(-batch * pairs // _SWIGLU_THREADS)
        self._swiglu((blocks,), _SWIGLU_THREADS, (gate_up, out, batch, pairs))
        return out

    def add_norm(self, partial: Tensor, residual: Tensor, weight: Tensor) -> Tensor:
        """Do as ``Plain`` does."""
        out = torch.empty_like(residual)
        arguments = norm_arguments(partial, residual, weight, out)
        self._add_norm((PARTS * len(residual),), NORM_THREADS, arguments)
        return out


def norm_arguments(
    partial: Tensor, residual: Tensor, weight: Tensor, out: Tensor
) -> tuple[Tensor | int | float, ...]:
    """Return the arguments that both kernels of add_norm.cu begin with."""
    rows, width = residual.shape
    if width != NORM_WIDTH:
        raise ValueError(f"add_norm.cu takes rows of {NORM_WIDTH} elements, not of {width}")
    chunks = 1 if partial.dim() == 2 else len(partial)
    return partial, residual, weight, out, rows, chunks, EPSILON


def norm(x: Tensor, weight: Tensor) -> Tensor:
    """Return the RMSNorm of x, [batch, width], rounded before the weight as Llama's code does."""
    wide = x.float()
    factor = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)
    return (wide * factor).to(x.dtype) * weight
