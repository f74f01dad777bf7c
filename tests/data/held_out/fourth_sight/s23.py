"""One-token attention over a long context, a few sequences at once."""
import torch
import triton
import triton.language as tl

from runner import main

B, H, T, D = 4, 8, 16384, 128


@triton.jit
def attend_one(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + pid * D + d).to(tl.float32) * scale
    base = pid.to(tl.int64) * T * D
    m = tl.full([], float("-inf"), tl.float32)
    l = tl.full([], 0.0, tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for t0 in range(0, T, BLOCK):
        t = t0 + tl.arange(0, BLOCK)
        off = base + t[:, None] * D + d[None, :]
        k = tl.load(k_ptr + off).to(tl.float32)
        v = tl.load(v_ptr + off).to(tl.float32)
        s = tl.sum(k * q[None, :], 1)
        mn = tl.maximum(m, tl.max(s, 0))
        a = tl.exp(m - mn)
        p = tl.exp(s - mn)
        l = l * a + tl.sum(p, 0)
        acc = acc * a + tl.sum(p[:, None] * v, 0)
        m = mn
    tl.store(o_ptr + pid * D + d, (acc / l).to(tl.bfloat16))


def setup():
    mk = lambda *s: torch.randn(*s, device="cuda", dtype=torch.bfloat16)
    return mk(B, H, D), mk(B, H, T, D), mk(B, H, T, D), torch.empty(B, H, D, device="cuda", dtype=torch.bfloat16)


def step(s):
    q, k, v, o = s
    attend_one[(B * H,)](q, k, v, o, T, D**-0.5, D=D, BLOCK=64, num_warps=8)


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
