"""Collect neighbour features in random order for a sampled mini-batch."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define PER 4

__global__ void __launch_bounds__(256) collect(const int* __restrict__ idx, const float4* __restrict__ feat,
                                               float4* __restrict__ out, int rows, int width4) {
    const int lane = threadIdx.x & 31;
    const int first = ((blockIdx.x * blockDim.x + threadIdx.x) / 32) * PER;
    if (first + PER > rows) return;
    float4 v[PER];
    #pragma unroll
    for (int k = 0; k < PER; ++k) v[k] = __ldg(feat + (size_t)idx[first + k] * width4 + lane);
    #pragma unroll
    for (int k = 0; k < PER; ++k) __stcs(out + (size_t)(first + k) * width4 + lane, v[k]);
}

extern "C" void gather(const void* idx, const void* feat, void* out, int rows, void* stream) {
    int warps = rows / PER;
    collect<<<(warps * 32 + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
        (const int*)idx, (const float4*)feat, (float4*)out, rows, 32);
}
"""

NODES, WIDTH, PICK = 16_000_000, 128, 4_000_000


def setup():
    return {
        "lib": cubuild.load(SRC, "collect"),
        "feat": torch.randn(NODES, WIDTH, device="cuda"),
        "idx": torch.randint(0, NODES, (PICK,), device="cuda", dtype=torch.int32),
        "out": torch.empty(PICK, WIDTH, device="cuda"),
    }


def step(s):
    s["lib"].gather(cubuild.p(s["idx"]), cubuild.p(s["feat"]), cubuild.p(s["out"]), PICK, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
