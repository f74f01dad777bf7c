"""Half-precision matrix product with bias, Triton."""
import torch
import triton
import triton.language as tl

DEV = "cuda" if torch.cuda.is_available() else "cpu"
M = N = K = 3072
BM, BN, BK = 64, 64, 32


@triton.jit
def linear_bias(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(1), tl.program_id(0)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ap = a + rm[:, None] * K + rk[None, :]
    bp = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(ap).to(tl.float32)
        y = tl.load(bp).to(tl.float32)
        acc = tl.dot(x, y, acc, input_precision="ieee")
        ap += BK
        bp += BK * N
    acc += tl.load(bias + rn).to(tl.float32)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


def setup():
    def r(*shape):
        return torch.randn(*shape, device=DEV, dtype=torch.float16)

    return {"a": r(M, K), "b": r(K, N), "bias": r(N), "c": torch.empty(M, N, device=DEV, dtype=torch.float16)}


def step(s):
    linear_bias[(N // BN, M // BM)](s["a"], s["b"], s["bias"], s["c"], M, N, K, BM=BM, BN=BN, BK=BK, num_warps=4, num_stages=3)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
