"""Triton kernels of the engine; ``reference.py`` says what each computes, and in which shapes.

What varies from step to step is no form of its own to the compiler (``do_not_specialize``), so that
a warm-up can run every form there is.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor
from workloads.engine.model import How

TILE = 64
"""Tokens of the cache that attention reads at a time."""
DECODES, PROMPTS = (16, 4, 3, 8), (128, 8, 3, 1)
"""Rows of a tile (queries times the heads that share their keys), warps, stages, and programs that
each multiprocessor is to have. Three stages: the block table is read a tile before its blocks."""
MOST_SPLITS = tl.constexpr(32)
"""Programs among which the keys of a tile are split, at most."""
MULTIPROCESSORS = 132
"""Of an H100 SXM or H200 (NVIDIA's datasheets): keys are split until programs fill nine tenths."""
AHEAD = tl.constexpr(16)
"""Lines of each row of its matrix that ``product`` asks for while the kernel before it runs."""
FORMS: tuple[How, ...] = (
    (16, 512, 3, 4), (16, 512, 4, 4), (16, 256, 4, 4), (16, 256, 6, 4), (32, 256, 4, 4),
    (64, 128, 5, 1),
)
"""Of ``product``, of which the fastest is chosen on each device: rows of its matrix that a program
takes, columns that it reads at a time, such reads in flight, and among how many warps the columns
are divided (1: the warps divide the rows). Reads in flight on a multiprocessor are 48 to 160 KiB;
4.4 TB/s for 0.8 µs are 27 KiB on each."""
MATRICES = ("qkv", "out", "gate_up", "down", "vocabulary")
"""That ``product`` multiplies with."""


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


def attend(
    q: Tensor, cache: Tensor, tables: Tensor, slots: Tensor, ends: Tensor, firsts: Tensor,
    singles: int, longest: int,
) -> Tensor:
    """Return causal attention of q [T, H, D]; tokens of no row are left as they are."""
    (tokens, heads, width), (kv_heads, block) = q.shape, cache.shape[2:4]
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    rows, group = len(slots), heads // kv_heads
    for before, after, most in ((0, singles, 1), (singles, rows, longest)):
        if after == before:
            continue
        tile, warps, stages, resident = DECODES if most == 1 else PROMPTS
        in_all = singles if most == 1 else triton.cdiv((tokens - singles) * group, tile)
        splits = splits_of(in_all, kv_heads, resident)
        tiles = triton.cdiv(most * group, tile)
        parts = q.new_empty(*q.shape, splits, dtype=torch.float32) if splits > 1 else out
        sums = q.new_empty(tokens, heads, splits, dtype=torch.float32)
        _attend[(tiles * splits, kv_heads, after - before)](
            q, q.stride(0), cache[0], cache[1], tables, tables.shape[1], slots, ends, firsts,
            before, parts, sums, width**-0.5 * 1.4426950408889634, tiles, splits, heads, kv_heads,
            group, width, block, TILE, tile, num_warps=warps, num_stages=stages, launch_pdl=True,
        )
        if splits > 1:
            _merge[(tokens, heads)](
                parts, sums, out, firsts, before, after, splits, heads, width, num_warps=2,
                launch_pdl=True,
            )
    return out


def splits_of(tiles: int, kv_heads: int, resident: int = DECODES[3]) -> int:
    """Return into how many parts, a power of two, the keys of so many tiles are split."""
    splits, wanted = 1, 0.9 * resident * MULTIPROCESSORS
    while splits < MOST_SPLITS.value and tiles * kv_heads * splits < wanted:
        splits *= 2
    return splits


def product(
    x: Tensor, weight: Tensor, how: How, squares: Tensor | None = None, eps: float = 0.0,
    gated: bool = False, added_to: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return x [R, K] times weight [N, K] for few rows, and the squares of what is returned.

    ``squares`` [parts, R]: sums of x's squares, by which x is normed. ``gated``: weight is
    [gate, up], and silu(gate) * up is returned. ``added_to`` [R, N]: is added to, in place; only
    then are the squares written.
    """
    (rows, width), (a_program, depth, stages, slices) = x.shape, how
    outputs = weight.shape[0] // (2 if gated else 1)
    out = x.new_empty(rows, outputs) if added_to is None else added_to
    programs = triton.cdiv(outputs, a_program)
    parts = x.new_empty(programs, rows, dtype=torch.float32)
    few = max(8, triton.next_power_of_2(rows))
    _product[(programs,)](
        x, weight, squares, out, parts, rows, eps, outputs, width, few, a_program, depth, slices,
        0 if squares is None else len(squares), gated, added_to is not None, num_warps=4,
        num_stages=stages, launch_pdl=True,
    )
    return out, parts


@triton.jit(do_not_specialize=["rows"])
def _product(
    x, weight, squares, out, parts, rows, eps, outputs, K: tl.constexpr, ROWS: tl.constexpr,
    OUTPUTS: tl.constexpr, DEPTH: tl.constexpr, SLICES: tl.constexpr, PARTS: tl.constexpr,
    GATED: tl.constexpr, ADD: tl.constexpr,
):
    program = tl.program_id(0)
    n = program * OUTPUTS + tl.arange(0, OUTPUTS)
    m = tl.arange(0, ROWS)
    lines = weight + n.to(tl.int64) * K
    ups_at = outputs.to(tl.int64) * K
    ahead = tl.arange(0, AHEAD)[None, :] * 64
    _prefetch(lines[:, None] + ahead)
    if GATED:
        _prefetch(lines[:, None] + ups_at + ahead)
    # The kernel before this one may still run: its results are read, and its inputs written, below.
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    own = m < rows
    # Each warp has columns of its own: what a program reads crosses shared memory once, not once
    # for each warp.
    s, k = tl.arange(0, SLICES), tl.arange(0, DEPTH // SLICES)
    column = s[:, None, None] * (DEPTH // SLICES)
    of_weight = lines[None, :, None] + column + k[None, None, :]
    of_x = x + m[None, None, :] * K + column + k[None, :, None]
    total = tl.zeros([SLICES, OUTPUTS, ROWS], tl.float32)
    ups = tl.zeros([SLICES, OUTPUTS, ROWS], tl.float32)
    for at in range(0, K, DEPTH):
        columns = tl.load(of_x + at, mask=own[None, None, :], other=0.0)
        total = tl.dot(tl.load(of_weight + at, eviction_policy="evict_first"), columns, total)
        if GATED:
            up = tl.load(of_weight + ups_at + at, eviction_policy="evict_first")
            ups = tl.dot(up, columns, ups)
    total, ups = tl.sum(total, 0), tl.sum(ups, 0)
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


@triton.jit(do_not_specialize=["positions", "places"])
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
def _with_tile(
    n, stop, position, queries, most, total, sum_, scale, keys, values, table, kv,
    MASKED: tl.constexpr, KV: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
):
    """Return the running maximum, sum of weights and weighted sum of values with tokens ``n``.

    ``MASKED``: only those before ``stop`` exist, and a query sees none behind its position.
    """
    d = tl.arange(0, D)
    if MASKED:
        inside = n < stop
        block = tl.load(table + n // BLOCK, mask=inside, other=0).to(tl.int64)
        at = (block * KV + kv) * (BLOCK * D) + (n % BLOCK) * D
        k = tl.load(keys + at[None, :] + d[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(values + at[:, None] + d[None, :], mask=inside[:, None], other=0.0)
    else:
        block = tl.load(table + n // BLOCK).to(tl.int64)
        at = (block * KV + kv) * (BLOCK * D) + (n % BLOCK) * D
        k = tl.load(keys + at[None, :] + d[:, None])
        v = tl.load(values + at[:, None] + d[None, :])
    scores = tl.dot(queries, k, input_precision="ieee") * scale
    if MASKED:
        seen = (n < stop)[None, :] & (n[None, :] <= position[:, None])
        scores = tl.where(seen, scores, float("-inf"))
    higher = tl.maximum(most, tl.max(scores, 1))
    # A query that has seen no token yet has no maximum to subtract.
    base = tl.where(higher == float("-inf"), 0.0, higher) if MASKED else higher
    weights = tl.exp2(scores - base[:, None])
    shrink = tl.exp2(most - base)
    total = total * shrink + tl.sum(weights, 1)
    sum_ = tl.dot(weights.to(v.dtype), v, sum_ * shrink[:, None], input_precision="ieee")
    return higher, total, sum_


@triton.jit(do_not_specialize=["slots", "ends", "firsts", "before", "tiles", "splits"])
def _attend(
    q, q_stride, keys, values, tables, table_width, slots, ends, firsts, before, out, sums, scale,
    tiles, splits, HEADS: tl.constexpr, KV: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr,
):
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    kv, row = tl.program_id(1), before + tl.program_id(2)
    # Neighbours read the same keys; the last tiles of a prompt have most of them and start first.
    split, tile = tl.program_id(0) // tiles, tiles - 1 - tl.program_id(0) % tiles
    first = tl.load(firsts + row)
    count = tl.load(firsts + row + 1) - first
    begun = tile * (ROWS // GROUP)
    if begun < count:
        length = tl.load(ends + row)
        table = tables + tl.load(slots + row).to(tl.int64) * table_width
        r, d = tl.arange(0, ROWS), tl.arange(0, D)
        query = begun + r // GROUP
        own = query < count
        head = kv * GROUP + r % GROUP
        at = (first + query).to(tl.int64)
        queries = tl.load(
            q + at[:, None] * q_stride + head[:, None] * D + d[None, :],
            mask=own[:, None],
            other=0.0,
        )
        position = length - count + query
        seen_by_any = tl.minimum(length - count + begun + ROWS // GROUP, length)
        seen_by_all = (length - count + begun + 1) // TILE * TILE
        part = tl.cdiv(tl.cdiv(seen_by_any, splits), TILE) * TILE
        begin = split * part
        stop = tl.minimum(begin + part, seen_by_any)
        whole = tl.minimum(tl.maximum(begin, seen_by_all), stop)
        most = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        sum_ = tl.zeros([ROWS, D], tl.float32)
        n = tl.arange(0, TILE)
        for start in range(begin, whole, TILE):
            most, total, sum_ = _with_tile(
                start + n, stop, position, queries, most, total, sum_, scale, keys, values, table,
                kv, False, KV, D, BLOCK,
            )
        for start in range(whole, stop, TILE):
            most, total, sum_ = _with_tile(
                start + n, stop, position, queries, most, total, sum_, scale, keys, values, table,
                kv, True, KV, D, BLOCK,
            )
        place = (at * HEADS + head) * splits + split
        empty = total == 0.0
        sum_ = sum_ / tl.where(empty, 1.0, total)[:, None]
        some = own & (total > 0.0)
        tl.store(out + place[:, None] * D + d[None, :], sum_, mask=some[:, None])
        tl.store(sums + place, tl.where(empty, float("-inf"), most + tl.log2(total)), mask=own)


@triton.jit(do_not_specialize=["firsts", "before", "after", "splits"])
def _merge(
    parts, sums, out, firsts, before, after, splits, HEADS: tl.constexpr, D: tl.constexpr
):
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    token = tl.program_id(0)
    if (token >= tl.load(firsts + before)) & (token < tl.load(firsts + after)):
        at = token.to(tl.int64) * HEADS + tl.program_id(1)
        s, d = tl.arange(0, MOST_SPLITS), tl.arange(0, D)
        sum_ = tl.load(sums + at * splits + s, mask=s < splits, other=float("-inf"))
        weights = tl.exp2(sum_ - tl.max(sum_))
        some = sum_ > float("-inf")
        part = tl.load(parts + (at * splits + s[:, None]) * D + d[None, :], some[:, None], 0.0)
        tl.store(out + at * D + d, tl.sum(part * weights[:, None], 0) / tl.sum(weights))
