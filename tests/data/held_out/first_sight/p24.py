"""One decoding position attending over a very long context."""
import torch
import triton
import triton.language as tl

HEADS, CTX, DIM = 16, 65536, 128


@triton.jit
def attend_one(q_ptr, k_ptr, v_ptr, o_ptr, ctx, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d).to(tl.float32) * scale
    base = head * ctx * D
    m_i = -1e30
    l_i = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, ctx, BLOCK):
        n = start + tl.arange(0, BLOCK)
        offs = base + n[:, None] * D + d[None, :]
        ok = n < ctx
        k = tl.load(k_ptr + offs, mask=ok[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offs, mask=ok[:, None], other=0.0).to(tl.float32)
        s = tl.sum(k * q[None, :], axis=1)
        s = tl.where(ok, s, -1e30)
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        p = tl.exp(s - m_new)
        alpha = tl.exp(m_i - m_new)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        l_i = l_i * alpha + tl.sum(p, axis=0)
        m_i = m_new
    tl.store(o_ptr + head * D + d, (acc / l_i).to(o_ptr.dtype.element_ty))


def setup():
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {
        "q": torch.randn(HEADS, DIM, **f),
        "k": torch.randn(HEADS, CTX, DIM, **f),
        "v": torch.randn(HEADS, CTX, DIM, **f),
        "o": torch.empty(HEADS, DIM, **f),
        "w": torch.randn(HEADS * DIM, HEADS * DIM, **f) / (HEADS * DIM) ** 0.5,
    }


def step(s):
    attend_one[(HEADS,)](s["q"], s["k"], s["v"], s["o"], CTX, DIM**-0.5, D=DIM, BLOCK=64, num_warps=4)
    s["q"] = (s["o"].view(1, -1) @ s["w"]).view(HEADS, DIM)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
