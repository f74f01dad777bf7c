"""Autoregressive attention forward pass."""
import torch
import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * T * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    q = tl.load(q_ptr + head + rm[:, None] * D + rd[None, :])
    k = k_ptr + head + rn[None, :] * D + rd[:, None]
    v = v_ptr + head + rn[:, None] * D + rd[None, :]
    m_i = tl.full((BM,), -1e30, tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    qk_scale = scale * 1.44269504
    for start in range(0, T, BN):
        s = tl.dot(q, tl.load(k)) * qk_scale
        s = tl.where(rm[:, None] >= start + rn[None, :], s, -1e30)
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v), acc)
        m_i = m_new
        k += BN * D
        v += BN * D
    tl.store(o_ptr + head + rm[:, None] * D + rd[None, :], (acc / l_i[:, None]).to(tl.bfloat16))


HEADS, T, DIM = 32, 8192, 64


def setup():
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {**{n: torch.randn(HEADS, T, DIM, **f) for n in "qkv"}, "o": torch.empty(HEADS, T, DIM, **f)}


def step(s):
    attention[(T // 128, HEADS)](
        s["q"], s["k"], s["v"], s["o"], T, DIM**-0.5, D=DIM, BM=128, BN=64, num_warps=4, num_stages=3
    )


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=3)
