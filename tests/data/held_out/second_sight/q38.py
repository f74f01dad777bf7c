"""Gene co-expression: product of an expression matrix with its transpose."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define TILE 32

__global__ void __launch_bounds__(TILE * TILE) coexpression(const float* __restrict__ x, const float* __restrict__ xt,
                                                           float* __restrict__ out, int genes, int samples) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < samples; k += TILE) {
        a[threadIdx.y][threadIdx.x] = x[(size_t)row * samples + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = xt[(size_t)(k + threadIdx.y) * genes + col];
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < TILE; ++j) sum = fmaf(a[threadIdx.y][j], b[j][threadIdx.x], sum);
        __syncthreads();
    }
    out[(size_t)row * genes + col] = sum / samples;
}

extern "C" void coexpr(const void* x, const void* xt, void* out, int genes, int samples, void* stream) {
    coexpression<<<dim3(genes / TILE, genes / TILE), dim3(TILE, TILE), 0, (cudaStream_t)stream>>>(
        (const float*)x, (const float*)xt, (float*)out, genes, samples);
}
"""

GENES, SAMPLES = 8192, 1024


def setup():
    x = torch.randn(GENES, SAMPLES, device="cuda")
    return {
        "lib": cubuild.load(SRC, "coexpr"),
        "x": x,
        "xt": x.t().contiguous(),
        "out": torch.empty(GENES, GENES, device="cuda"),
    }


def step(s):
    s["lib"].coexpr(*(cubuild.p(s[k]) for k in ("x", "xt", "out")), GENES, SAMPLES, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
