"""Many small 32x32 systems: a few power iterations each, one warp per matrix."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
#define WARPS 8
#define N 32
__global__ void power_iter(const float* __restrict__ a, float* __restrict__ out, int count, int iters) {
    __shared__ float mat[WARPS][N * N];
    __shared__ float vec[WARPS][N];
    int w = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int id = blockIdx.x * WARPS + w;
    if (id >= count) return;
    const float* src = a + (size_t)id * N * N;
#pragma unroll
    for (int i = 0; i < N; ++i) mat[w][i * N + lane] = src[i * N + lane];
    vec[w][lane] = 1.0f;
    __syncwarp();
    float y = 0.f;
    for (int it = 0; it < iters; ++it) {
        y = 0.f;
#pragma unroll 8
        for (int k = 0; k < N; ++k) y += mat[w][lane * N + k] * vec[w][k];
        float n = y * y;
#pragma unroll
        for (int o = 16; o; o >>= 1) n += __shfl_xor_sync(0xffffffffu, n, o);
        y *= rsqrtf(n + 1e-20f);
        __syncwarp();
        vec[w][lane] = y;
        __syncwarp();
    }
    out[(size_t)id * N + lane] = y;
}
extern "C" void launch(const void* a, void* o, int count, int iters, void* st) {
    power_iter<<<(count + WARPS - 1) / WARPS, WARPS * 32, 0, (cudaStream_t)st>>>((const float*)a, (float*)o, count, iters);
}
"""
COUNT = 65536


def setup():
    lib = cubuild.load(SRC, "power_iter")
    a = torch.rand(COUNT, 32, 32, device="cuda")
    return dict(lib=lib, a=a, o=torch.empty(COUNT, 32, device="cuda"))


def step(s):
    s["lib"].launch(cubuild.p(s["a"]), cubuild.p(s["o"]), ctypes.c_int(COUNT), ctypes.c_int(12), cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
