"""Softmax over a 64k-token vocabulary, one row per program."""
import torch
import triton
import triton.language as tl

from runner import main

ROWS, COLS = 2048, 64000


@triton.jit
def vocab_softmax(x_ptr, y_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * stride + c, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * stride + c, y, mask=mask)


def setup():
    x = torch.randn(ROWS, COLS, device="cuda")
    return x, torch.empty_like(x)


def step(s):
    x, y = s
    vocab_softmax[(ROWS,)](x, y, x.stride(0), COLS, BLOCK=triton.next_power_of_2(COLS))


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
