"""All-pairs gravity for a star cluster."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
#define BS 128
#define PER 2
__global__ void __launch_bounds__(BS) gravity(const float4* __restrict__ body, float4* __restrict__ acc, int n) {
    __shared__ float4 tile[BS];
    float x[PER], y[PER], z[PER], ax[PER], ay[PER], az[PER];
    int base = blockIdx.x * BS * PER + threadIdx.x;
    int span = n / gridDim.y, first = blockIdx.y * span;
#pragma unroll
    for (int u = 0; u < PER; ++u) {
        float4 b = body[base + u * BS];
        x[u] = b.x; y[u] = b.y; z[u] = b.z;
        ax[u] = ay[u] = az[u] = 0.f;
    }
    for (int j0 = first; j0 < first + span; j0 += BS) {
        tile[threadIdx.x] = body[j0 + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < BS; ++j) {
            float4 b = tile[j];
#pragma unroll
            for (int u = 0; u < PER; ++u) {
                float dx = b.x - x[u], dy = b.y - y[u], dz = b.z - z[u];
                float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-3f)));
                float ir = rsqrtf(r2);
                float f = b.w * ir * ir * ir;
                ax[u] = fmaf(f, dx, ax[u]);
                ay[u] = fmaf(f, dy, ay[u]);
                az[u] = fmaf(f, dz, az[u]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < PER; ++u) acc[(size_t)blockIdx.y * n + base + u * BS] = make_float4(ax[u], ay[u], az[u], 0.f);
}
extern "C" void launch(const void* b, void* a, int n, void* st) {
    gravity<<<dim3(n / (BS * PER), 4), BS, 0, (cudaStream_t)st>>>((const float4*)b, (float4*)a, n);
}
"""
N = 264 * 256


def setup():
    lib = cubuild.load(SRC, "gravity", flags=("-use_fast_math",))
    b = torch.rand(N, 4, device="cuda")
    return lib, b, torch.empty(4, N, 4, device="cuda")


def step(st):
    lib, b, a = st
    lib.launch(cubuild.p(b), cubuild.p(a), ctypes.c_int(N), cubuild.stream())
    return a.sum(0)


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
