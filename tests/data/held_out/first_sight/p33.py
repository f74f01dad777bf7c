"""Approximate nearest-neighbour search: distances from compact codes."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define SUB 96
#define CENTERS 256
#define THREADS 64

__global__ void __launch_bounds__(THREADS) scan_codes(const unsigned char* __restrict__ codes,
                                                      const float* __restrict__ table,
                                                      float* __restrict__ dist, int n) {
    extern __shared__ float lut[];
    for (int i = threadIdx.x; i < SUB * CENTERS; i += THREADS) lut[i] = table[i];
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        float acc = 0.0f;
        #pragma unroll 4
        for (int m = 0; m < SUB; ++m) acc += lut[m * CENTERS + codes[(size_t)m * n + i]];
        dist[i] = acc;
    }
}

extern "C" int scan(const void* codes, const void* table, void* dist, int n, void* stream) {
    const int bytes = SUB * CENTERS * 4;
    cudaError_t e = cudaFuncSetAttribute(scan_codes, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (e != cudaSuccess) return (int)e;
    scan_codes<<<132 * 2, THREADS, bytes, (cudaStream_t)stream>>>(
        (const unsigned char*)codes, (const float*)table, (float*)dist, n);
    return (int)cudaGetLastError();
}
"""

N, SUB = 6_000_000, 96


def setup():
    return {
        "lib": cubuild.load(SRC, "scan"),
        "codes": torch.randint(0, 256, (SUB, N), dtype=torch.uint8, device="cuda"),
        "table": torch.rand(SUB, 256, device="cuda"),
        "dist": torch.empty(N, device="cuda"),
    }


def step(s):
    rc = s["lib"].scan(cubuild.p(s["codes"]), cubuild.p(s["table"]), cubuild.p(s["dist"]), N, cubuild.stream())
    assert rc == 0, rc
    s["best"] = s["dist"].min(0)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
