"""All-pairs squared distances between two sets of descriptors."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define TILE 128
#define KB 8

__global__ void __launch_bounds__(256, 6) pair_sqdist(const float* __restrict__ at, const float* __restrict__ bt,
                                                      float* __restrict__ out, int n, int m, int k) {
    __shared__ float sa[KB][TILE], sb[KB][TILE];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int lr = threadIdx.x / 32, lc = (threadIdx.x % 32) * 4;
    const int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float acc[8][8];
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
    for (int k0 = 0; k0 < k; k0 += KB) {
        *(float4*)&sa[lr][lc] = *(const float4*)(at + (size_t)(k0 + lr) * n + row + lc);
        *(float4*)&sb[lr][lc] = *(const float4*)(bt + (size_t)(k0 + lr) * m + col + lc);
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < KB; ++kk) {
            float a[8], b[8];
            #pragma unroll
            for (int i = 0; i < 8; ++i) a[i] = sa[kk][ty * 8 + i];
            #pragma unroll
            for (int j = 0; j < 8; ++j) b[j] = sb[kk][tx + 16 * j];
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    float d = a[i] - b[j];
                    acc[i][j] = fmaf(d, d, acc[i][j]);
                }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            out[(size_t)(row + ty * 8 + i) * m + col + tx + 16 * j] = acc[i][j];
}

extern "C" void pairs(const void* at, const void* bt, void* out, int n, int m, int k, void* stream) {
    dim3 grid(m / TILE, n / TILE);
    pair_sqdist<<<grid, 256, 0, (cudaStream_t)stream>>>((const float*)at, (const float*)bt, (float*)out, n, m, k);
}
"""

N, M, K = 8192, 8192, 256


def setup():
    return {
        "lib": cubuild.load(SRC, "pairs"),
        "at": torch.randn(K, N, device="cuda"),
        "bt": torch.randn(K, M, device="cuda"),
        "out": torch.empty(N, M, device="cuda"),
    }


def step(s):
    s["lib"].pairs(cubuild.p(s["at"]), cubuild.p(s["bt"]), cubuild.p(s["out"]), N, M, K, cubuild.stream())
    s["near"] = s["out"].amin(1)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
