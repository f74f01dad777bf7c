"""Circular shift of field snapshots in a periodic domain, Triton."""
import torch
import triton
import triton.language as tl

DEV = "cuda" if torch.cuda.is_available() else "cpu"
N, C, H, W = 24, 5, 750, 1000
BLOCK = 1024


@triton.jit
def periodic_shift(x, y, total, C, H, W, dc, dh, dw, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    w = i % W
    h = (i // W) % H
    c = (i // (W * H)) % C
    n = i // (W * H * C)
    src = ((n * C + (c + dc) % C) * H + (h + dh) % H) * W + (w + dw) % W
    tl.store(y + i, tl.load(x + src, mask=ok), mask=ok)


def setup():
    x = torch.randn(N, C, H, W, device=DEV)
    return {"x": x, "y": torch.empty_like(x)}


def step(s):
    total = s["x"].numel()
    periodic_shift[(triton.cdiv(total, BLOCK),)](s["x"], s["y"], total, C, H, W, 2, 37, 8, BLOCK=BLOCK, num_warps=4)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
