"""Blocked product of two feature matrices with a fused bias."""
import torch
import triton
import triton.language as tl

from runner import main

M, N, K = 4096, 4096, 4096


@triton.jit
def linear_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    pm = first + pid % (GROUP * tiles_n) % rows
    pn = pid % (GROUP * tiles_n) // rows
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    a = a_ptr + om[:, None] * K + ok[None, :]
    b = b_ptr + ok[:, None] * N + on[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(a), tl.load(b), acc, input_precision="ieee")
        a += BK
        b += BK * N
    acc += tl.load(bias_ptr + on)[None, :]
    tl.store(c_ptr + om[:, None] * N + on[None, :], acc)


def setup():
    a = torch.randn(M, K, device="cuda")
    b = torch.randn(K, N, device="cuda")
    bias = torch.randn(N, device="cuda")
    return {"a": a, "b": b, "bias": bias, "c": torch.empty(M, N, device="cuda")}


def step(s):
    grid = (triton.cdiv(M, 64) * triton.cdiv(N, 64),)
    linear_kernel[grid](
        s["a"], s["b"], s["bias"], s["c"], M, N, K,
        BM=64, BN=64, BK=16, GROUP=8, num_warps=4, num_stages=3,
    )


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
