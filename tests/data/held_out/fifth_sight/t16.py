"""Residual add and RMS normalisation of wide rows."""
import torch
import triton
import triton.language as tl

from runner import main

ROWS, COLS = 65536, 16384


@triton.jit
def add_rmsnorm(x_ptr, r_ptr, w_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    off = tl.arange(0, BLOCK)
    mask = off < cols
    x = tl.load(x_ptr + row * cols + off, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + row * cols + off, mask=mask, other=0.0).to(tl.float32)
    h = x + r
    tl.store(r_ptr + row * cols + off, h.to(tl.bfloat16), mask=mask)
    scale = 1.0 / tl.sqrt(tl.sum(h * h, 0) / cols + eps)
    w = tl.load(w_ptr + off, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + off, (h * scale * w).to(tl.bfloat16), mask=mask)


def setup():
    x = torch.randn(ROWS, COLS, device="cuda", dtype=torch.bfloat16)
    r = torch.randn(ROWS, COLS, device="cuda", dtype=torch.bfloat16)
    w = torch.ones(COLS, device="cuda", dtype=torch.bfloat16)
    return {"x": x, "r": r, "w": w, "out": torch.empty_like(x)}


def step(s):
    block = triton.next_power_of_2(COLS)
    add_rmsnorm[(ROWS,)](s["x"], s["r"], s["w"], s["out"], COLS, 1e-6, BLOCK=block, num_warps=1)


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
