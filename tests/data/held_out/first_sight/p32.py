"""Projection layer with a fused scale, written in Triton."""
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_linear(a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    n_blocks = tl.cdiv(N, BN)
    rm = (pid // n_blocks) * BM + tl.arange(0, BM)
    rn = (pid % n_blocks) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * K + rk[None, :]
    b = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(a).to(tl.float32)
        w = tl.load(b).to(tl.float32)
        acc = tl.dot(x, w, acc, input_precision="ieee")
        a += BK
        b += BK * N
    acc = acc * tl.load(s_ptr + rn)[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


def setup():
    m = n = k = 4096
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {
        "a": torch.randn(m, k, **f),
        "b": torch.randn(k, n, **f) / 64,
        "s": torch.rand(n, device="cuda"),
        "c": torch.empty(m, n, **f),
    }


def step(s):
    m, k = s["a"].shape
    n = s["b"].shape[1]
    scaled_linear[((m // 64) * (n // 64),)](
        s["a"], s["b"], s["s"], s["c"], m, n, k, BM=64, BN=64, BK=32, num_warps=4, num_stages=2
    )
    s["top"] = s["c"].amax()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
