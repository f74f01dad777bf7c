"""Linear layer with bias and ReLU fused behind the product."""
import torch
import triton
import triton.language as tl


@triton.jit
def linear_relu(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    x = x_ptr + rm[:, None] * K + rk[None, :]
    w = w_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(x), tl.load(w), acc)
        x += BK
        w += BK * N
    acc = tl.maximum(acc + tl.load(b_ptr + rn)[None, :], 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


M, N, K = 8192, 4096, 4096


def setup():
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {
        "x": torch.randn(M, K, **f),
        "w": torch.randn(K, N, **f) / 64,
        "b": torch.randn(N, device="cuda"),
        "y": torch.empty(M, N, **f),
    }


def step(s):
    linear_relu[(N // 32, M // 32)](
        s["x"], s["w"], s["b"], s["y"], M, N, K, BM=32, BN=32, BK=32, num_warps=4, num_stages=3
    )


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=3)
