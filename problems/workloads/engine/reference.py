"""What the kernels compute, in plain torch: for a CPU, and for the tests of the kernels.

Shapes: T tokens, R rows (requests), H query heads, K key-value heads, D head width, W table width.
A cache is [2, blocks, K, block, D]: keys, then values.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor


def norm(x: Tensor, eps: float, added: Tensor | None = None) -> Tensor:
    """Return the RMS norm of x [T, width]; ``added`` is first added to x, in place."""
    if added is not None:
        x += added
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return wide.to(x.dtype)


def swiglu(both: Tensor) -> Tensor:
    """Return silu(gate) * up of both = [gate, up], [T, 2 * hidden]."""
    gate, up = both.chunk(2, dim=-1)
    return F.silu(gate) * up


def rotate_and_store(
    qkv: Tensor,
    positions: Tensor,
    places: Tensor,
    rope: Tensor,
    cache: Tensor,
    head_norms: tuple[Tensor, Tensor, float] | None,
) -> None:
    """Rotate the queries of qkv [T, H + 2K, D] in place; write keys and values to the cache.

    ``rope``: cosines and sines, [positions, 2, D/2]; ``places``: block * size + offset of each
    token; ``head_norms``: RMS norms of queries and keys, (weight [D], weight [D], eps), if any.
    """
    kv_heads, block = cache.shape[2], cache.shape[3]
    heads = qkv.shape[1] - 2 * kv_heads
    q, k, v = qkv[:, :heads], qkv[:, heads : heads + kv_heads], qkv[:, heads + kv_heads :]
    if head_norms is not None:
        q_weight, k_weight, eps = head_norms
        q, k = norm(q, eps) * q_weight, norm(k, eps) * k_weight
    cos, sin = rope[positions.long()].unsqueeze(2).unbind(1)
    qkv[:, :heads] = _rotated(q, cos, sin)
    at, offset = places.long() // block, places.long() % block
    cache[0, at, :, offset] = _rotated(k, cos, sin)
    cache[1, at, :, offset] = v


def attend(
    q: Tensor,
    cache: Tensor,
    tables: Tensor,
    slots: Tensor,
    ends: Tensor,
    firsts: Tensor,
    singles: int,
    longest: int,
) -> Tensor:
    """Return causal attention of q [T, H, D] over the cache, [T, H, D].

    Row r's queries are ``firsts[r]`` to ``firsts[r + 1]``, which may be none: the last of
    ``ends[r]`` tokens, whose blocks are ``tables[slots[r]]``. The first ``singles`` rows have at
    most one, the others at most ``longest``.
    """
    del singles, longest
    out = torch.empty_like(q)
    kv_heads = cache.shape[2]
    for row, (slot, end) in enumerate(zip(slots.tolist(), ends.tolist(), strict=True)):
        first, after = int(firsts[row]), int(firsts[row + 1])
        count = after - first
        if not count:
            continue
        blocks = tables[slot, : -(-end // cache.shape[3])].long()
        keys, values = (
            part[blocks].transpose(1, 2).flatten(0, 1)[:end].transpose(0, 1)
            for part in (cache[0], cache[1])
        )
        times = q.shape[1] // kv_heads
        mask = torch.ones(count, end, dtype=torch.bool, device=q.device).tril(end - count)
        y = F.scaled_dot_product_attention(
            q[first:after].transpose(0, 1),
            keys.repeat_interleave(times, 0),
            values.repeat_interleave(times, 0),
            attn_mask=mask,
        )
        out[first:after] = y.transpose(0, 1)
    return out


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)
