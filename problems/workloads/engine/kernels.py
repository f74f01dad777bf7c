"""Triton kernels of the engine; ``reference.py`` says what each computes, and in which shapes."""

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 64
"""Tokens of the cache that an attention kernel reads at a time."""
QUERIES = 128
"""Rows of a prefill kernel's tile: queries times the heads that share their keys."""
OUTPUTS = 16
"""Rows of its matrix that a program of ``product`` takes."""
DEPTHS = {"gated": (256, 3), "normed": (512, 3), "added": (256, 6)}
"""Columns that it reads at a time, and such reads in flight: the fastest of 4 to 14 pairs that were
timed for each of Llama-3.1-8B's matrices on an H100."""
AHEAD = tl.constexpr(16)
"""Lines of each row of its matrix that it asks for while the kernel before it runs."""


def norm(x: Tensor, eps: float, added: Tensor | None = None) -> Tensor:
    """Return the RMS norm of x [T, width]; ``added`` is first added to x, in place."""
    out = torch.empty_like(x)
    width = x.shape[-1]
    _norm[(len(x),)](
        x, added, out, eps, width, triton.next_power_of_2(width), added is not None, num_warps=8
    )
    return out


def swiglu(both: Tensor) -> Tensor:
    """Return silu(gate) * up of both = [gate, up], [T, 2 * hidden]."""
    hidden = both.shape[-1] // 2
    out = both.new_empty(both.shape[0], hidden)
    _swiglu[(both.shape[0], triton.cdiv(hidden, 1024))](both, out, hidden, 1024)
    return out


def rotate_and_store(
    qkv: Tensor, positions: Tensor, places: Tensor, rope: Tensor, cache: Tensor,
    head_norms: tuple[Tensor, Tensor, float] | None,
) -> None:
    """Rotate the queries of qkv [T, H + 2K, D] in place; write keys and values to the cache."""
    tokens, all_heads, width = qkv.shape
    kv_heads, block = cache.shape[2:4]
    heads = all_heads - 2 * kv_heads
    q_weight, k_weight, eps = head_norms or (rope, rope, 0.0)
    _rotate_and_store[(tokens, heads + kv_heads)](
        qkv, positions, places, rope, cache[0], cache[1], q_weight, k_weight, eps, heads, kv_heads,
        width, block, head_norms is not None, num_warps=1, launch_pdl=True,
    )


def attend_one(
    q: Tensor, cache: Tensor, tables: Tensor, slots: Tensor, ends: Tensor, splits: int
) -> Tensor:
    """Return attention of one query a row, q [R, H, D]; ``splits`` programs share a row's keys."""
    rows, heads, width = q.shape
    kv_heads, block = cache.shape[2:4]
    out = torch.empty_like(q)
    parts = q.new_empty(rows, heads, splits, width, dtype=torch.float32) if splits > 1 else out
    sums = q.new_empty(rows, heads, splits, dtype=torch.float32)
    scale = width**-0.5 * 1.4426950408889634
    _attend_one[(splits, kv_heads, rows)](
        q, q.stride(0), cache[0], cache[1], tables, tables.shape[1], slots, ends, parts, sums,
        scale, heads, kv_heads, heads // kv_heads, width, block, TILE, splits, num_warps=4,
        num_stages=3, launch_pdl=True,
    )
    if splits > 1:
        _merge[(rows, heads)](parts, sums, out, heads, width, splits, num_warps=1, launch_pdl=True)
    return out


def attend_many(
    q: Tensor, cache: Tensor, tables: Tensor, slots: Tensor, ends: Tensor, firsts: Tensor, most: int
) -> Tensor:
    """Return causal attention of q [T, H, D]; no row has more than ``most`` queries."""
    heads, width = q.shape[1:]
    kv_heads, block = cache.shape[2:4]
    group = heads // kv_heads
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    scale = width**-0.5 * 1.4426950408889634
    _attend_many[(triton.cdiv(most * group, QUERIES), kv_heads, slots.shape[0])](
        q, q.stride(0), cache[0], cache[1], tables, tables.shape[1], slots, ends, firsts, out,
        scale, heads, kv_heads, group, width, block, TILE, QUERIES, num_warps=8, num_stages=2,
    )
    return out


def product(
    x: Tensor, weight: Tensor, squares: Tensor | None = None, eps: float = 0.0,
    gated: bool = False, added_to: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return x [R, K] times weight [N, K] for few rows, and the squares of what is returned.

    ``squares`` [parts, R]: sums of x's squares, by which x is normed. ``gated``: weight is
    [gate, up], and silu(gate) * up is returned. ``added_to`` [R, N]: is added to, in place; only
    then are the squares written.
    """
    rows, width = x.shape
    outputs = weight.shape[0] // (2 if gated else 1)
    out = x.new_empty(rows, outputs) if added_to is None else added_to
    programs = triton.cdiv(outputs, OUTPUTS)
    parts = x.new_empty(programs, rows, dtype=torch.float32)
    few = max(16, triton.next_power_of_2(rows))
    depth, stages = DEPTHS["gated" if gated else "added" if squares is None else "normed"]
    _product[(programs,)](
        x, weight, squares, out, parts, rows, eps, outputs, width, few, OUTPUTS, depth,
        0 if squares is None else len(squares), gated, added_to is not None, num_warps=4,
        num_stages=stages, launch_pdl=True,
    )
    return out, parts


@triton.jit
def _product(
    x, weight, squares, out, parts, rows, eps, outputs, K: tl.constexpr, ROWS: tl.constexpr,
    OUTPUTS: tl.constexpr, DEPTH: tl.constexpr, PARTS: tl.constexpr, GATED: tl.constexpr,
    ADD: tl.constexpr,
):
    program = tl.program_id(0)
    n = program * OUTPUTS + tl.arange(0, OUTPUTS)
    m, k = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    lines = weight + n.to(tl.int64)[:, None] * K
    ahead = tl.arange(0, AHEAD)[None, :] * 64
    _prefetch(lines + ahead)
    if GATED:
        _prefetch(lines + outputs.to(tl.int64) * K + ahead)
    # The kernel before this one may still run: its results are read, and its inputs written, below.
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    total = tl.zeros([OUTPUTS, ROWS], tl.float32)
    ups = tl.zeros([OUTPUTS, ROWS], tl.float32)
    own = m < rows
    for at in range(0, K, DEPTH):
        columns = tl.load(x + m[None, :] * K + at + k[:, None], mask=own[None, :], other=0.0)
        total = tl.dot(tl.load(lines + at + k[None, :]), columns, total)
        if GATED:
            up = tl.load(lines + outputs.to(tl.int64) * K + at + k[None, :])
            ups = tl.dot(up, columns, ups)
    if PARTS:
        p = tl.arange(0, PARTS)
        sums = tl.load(squares + p[:, None] * rows + m[None, :], mask=own[None, :], other=0.0)
        scale = tl.rsqrt(tl.sum(sums, 0) / K + eps)[None, :]
        total, ups = total * scale, ups * scale
    if GATED:
        total = total * tl.sigmoid(total) * ups
    to = out + m[None, :] * outputs + n[:, None]
    inside = own[None, :] & (n < outputs)[:, None]
    if ADD:
        total = (total + tl.load(to, mask=inside, other=0.0)).to(out.dtype.element_ty)
        wide = total.to(tl.float32)
        tl.store(parts + program * rows + m, tl.sum(wide * wide, 0), mask=own)
    tl.store(to, total, mask=inside)


@triton.jit
def _prefetch(pointers):
    """Bring the 128-byte lines at ``pointers`` into the L2 cache."""
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;",
        "=r,l",
        [pointers.to(tl.int64)],
        tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def _norm(x, added, out, eps, width, SIZE: tl.constexpr, ADD: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * width
    n = tl.arange(0, SIZE)
    inside = n < width
    row = tl.load(x + at + n, mask=inside, other=0.0)
    if ADD:
        row = (row.to(tl.float32) + tl.load(added + at + n, mask=inside, other=0.0)).to(row.dtype)
        tl.store(x + at + n, row, mask=inside)
    wide = row.to(tl.float32)
    wide = wide * tl.rsqrt(tl.sum(wide * wide) / width + eps)
    tl.store(out + at + n, wide, mask=inside)


@triton.jit
def _swiglu(both, out, hidden, SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    gate = tl.load(both + row * 2 * hidden + n, mask=n < hidden, other=0.0)
    up = tl.load(both + row * 2 * hidden + hidden + n, mask=n < hidden, other=0.0)
    wide = gate.to(tl.float32)
    tl.store(out + row * hidden + n, (wide * tl.sigmoid(wide)).to(gate.dtype) * up, mask=n < hidden)


@triton.jit
def _rotate_and_store(
    qkv, positions, places, rope, keys, values, q_weight, k_weight, eps, HEADS: tl.constexpr,
    KV: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, NORM: tl.constexpr,
):
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n = tl.arange(0, D // 2)
    row = qkv + token * (HEADS + 2 * KV) * D + head * D
    first, second = tl.load(row + n), tl.load(row + D // 2 + n)
    dtype = first.dtype
    a, b = first.to(tl.float32), second.to(tl.float32)
    if NORM:
        scale = tl.rsqrt((tl.sum(a * a) + tl.sum(b * b)) / D + eps)
        weight = q_weight if head < HEADS else k_weight
        a = ((a * scale).to(dtype) * tl.load(weight + n)).to(tl.float32)
        b = ((b * scale).to(dtype) * tl.load(weight + D // 2 + n)).to(tl.float32)
    angles = rope + tl.load(positions + token).to(tl.int64) * D
    cos, sin = tl.load(angles + n), tl.load(angles + D // 2 + n)
    left, right = (a * cos - b * sin).to(dtype), (b * cos + a * sin).to(dtype)
    if head < HEADS:
        tl.store(row + n, left)
        tl.store(row + D // 2 + n, right)
    else:
        place = tl.load(places + token).to(tl.int64)
        at = ((place // BLOCK) * KV + head - HEADS) * BLOCK * D + (place % BLOCK) * D
        tl.store(keys + at + n, left)
        tl.store(keys + at + D // 2 + n, right)
        whole = tl.arange(0, D)
        tl.store(values + at + whole, tl.load(row + KV * D + whole))


@triton.jit
def _tile(keys, values, table, n, end, kv, KV: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    """Return keys [D, n] and values [n, D] of the tokens n of one request."""
    inside = n < end
    block = tl.load(table + n // BLOCK, mask=inside, other=0).to(tl.int64)
    at = (block * KV + kv) * (BLOCK * D) + (n % BLOCK) * D
    d = tl.arange(0, D)
    k = tl.load(keys + at[None, :] + d[:, None], mask=inside[None, :], other=0.0)
    v = tl.load(values + at[:, None] + d[None, :], mask=inside[:, None], other=0.0)
    return k, v


@triton.jit
def _weighed(scores, v, most, total, sum_):
    """Return the running maximum, sum of weights and weighted sum of values with a tile's."""
    higher = tl.maximum(most, tl.max(scores, 1))
    weights = tl.exp2(scores - higher[:, None])
    shrink = tl.exp2(most - higher)
    total = total * shrink + tl.sum(weights, 1)
    sum_ = tl.dot(weights.to(v.dtype), v, sum_ * shrink[:, None], input_precision="ieee")
    return higher, total, sum_


@triton.jit
def _attend_one(
    q, q_stride, keys, values, tables, table_width, slots, ends, out, sums, scale,
    HEADS: tl.constexpr, KV: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK: tl.constexpr, TILE: tl.constexpr, SPLITS: tl.constexpr,
):
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    split, kv, row = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    table = tables + tl.load(slots + row).to(tl.int64) * table_width
    length = tl.load(ends + row)
    part = tl.cdiv(tl.cdiv(length, SPLITS), TILE) * TILE
    begin = split * part
    end = tl.minimum(begin + part, length)
    g, d = tl.arange(0, 16), tl.arange(0, D)
    heads = kv * GROUP + g
    own = g < GROUP
    queries = tl.load(
        q + row.to(tl.int64) * q_stride + heads[:, None] * D + d[None, :],
        mask=own[:, None],
        other=0.0,
    )
    most = tl.full([16], float("-inf"), tl.float32)
    total = tl.zeros([16], tl.float32)
    sum_ = tl.zeros([16, D], tl.float32)
    for at in range(begin, end, TILE):
        n = at + tl.arange(0, TILE)
        k, v = _tile(keys, values, table, n, end, kv, KV, D, BLOCK)
        scores = tl.dot(queries, k, input_precision="ieee") * scale
        scores = tl.where(n[None, :] < end, scores, float("-inf"))
        most, total, sum_ = _weighed(scores, v, most, total, sum_)
    place = (row.to(tl.int64) * HEADS + heads) * SPLITS + split
    if SPLITS == 1:
        tl.store(out + place[:, None] * D + d[None, :], sum_ / total[:, None], mask=own[:, None])
    else:
        empty = total == 0.0
        inverse = 1.0 / tl.where(empty, 1.0, total)
        tl.store(out + place[:, None] * D + d[None, :], sum_ * inverse[:, None], mask=own[:, None])
        tl.store(sums + place, tl.where(empty, float("-inf"), most + tl.log2(total)), mask=own)


@triton.jit
def _merge(parts, sums, out, HEADS: tl.constexpr, D: tl.constexpr, SPLITS: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    at = tl.program_id(0).to(tl.int64) * HEADS + tl.program_id(1)
    s, d = tl.arange(0, SPLITS), tl.arange(0, D)
    sum_ = tl.load(sums + at * SPLITS + s)
    weights = tl.exp2(sum_ - tl.max(sum_))
    part = tl.load(parts + (at * SPLITS + s[:, None]) * D + d[None, :])
    tl.store(out + at * D + d, tl.sum(part * weights[:, None], 0) / tl.sum(weights))


@triton.jit
def _attend_many(
    q, q_stride, keys, values, tables, table_width, slots, ends, firsts, out, scale,
    HEADS: tl.constexpr, KV: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK: tl.constexpr, TILE: tl.constexpr, QUERIES: tl.constexpr,
):
    kv, row = tl.program_id(1), tl.program_id(2)
    # The last tiles of a prompt have most keys: they start first.
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    first = tl.load(firsts + row)
    count = tl.load(firsts + row + 1) - first
    if tile * (QUERIES // GROUP) < count:
        end = tl.load(ends + row)
        table = tables + tl.load(slots + row).to(tl.int64) * table_width
        r, d = tl.arange(0, QUERIES), tl.arange(0, D)
        query = tile * (QUERIES // GROUP) + r // GROUP
        own = query < count
        head = kv * GROUP + r % GROUP
        at = (first + query).to(tl.int64)
        queries = tl.load(
            q + at[:, None] * q_stride + head[:, None] * D + d[None, :],
            mask=own[:, None],
            other=0.0,
        )
        position = end - count + query
        most = tl.full([QUERIES], float("-inf"), tl.float32)
        total = tl.zeros([QUERIES], tl.float32)
        sum_ = tl.zeros([QUERIES, D], tl.float32)
        seen_by_all = (end - count + tile * (QUERIES // GROUP)) // TILE * TILE
        seen_by_any = tl.minimum(end - count + (tile + 1) * (QUERIES // GROUP), end)
        for start in range(0, seen_by_all, TILE):
            n = start + tl.arange(0, TILE)
            k, v = _tile(keys, values, table, n, end, kv, KV, D, BLOCK)
            scores = tl.dot(queries, k, input_precision="ieee") * scale
            most, total, sum_ = _weighed(scores, v, most, total, sum_)
        for start in range(seen_by_all, seen_by_any, TILE):
            n = start + tl.arange(0, TILE)
            k, v = _tile(keys, values, table, n, end, kv, KV, D, BLOCK)
            scores = tl.dot(queries, k, input_precision="ieee") * scale
            scores = tl.where(n[None, :] <= position[:, None], scores, float("-inf"))
            most, total, sum_ = _weighed(scores, v, most, total, sum_)
        to = out + (at[:, None] * HEADS + head[:, None]) * D + d[None, :]
        tl.store(to, sum_ / total[:, None], mask=own[:, None])
