"""Factorise many small covariance matrices for a bank of Kalman filters."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define N 32

__global__ void __launch_bounds__(N * N) cholesky(const float* __restrict__ in, float* __restrict__ out) {
    __shared__ float a[N][N + 1];
    const int r = threadIdx.y, c = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * N * N;
    a[r][c] = in[base + r * N + c];
    __syncthreads();
    for (int k = 0; k < N; ++k) {
        if (r == k && c == k) a[k][k] = sqrtf(a[k][k]);
        __syncthreads();
        if (c == k && r > k) a[r][k] /= a[k][k];
        __syncthreads();
        if (r > k && c > k && c <= r) a[r][c] -= a[r][k] * a[c][k];
        __syncthreads();
    }
    out[base + r * N + c] = c <= r ? a[r][c] : 0.0f;
}

extern "C" void factor(const void* in, void* out, int batch, void* stream) {
    cholesky<<<batch, dim3(N, N), 0, (cudaStream_t)stream>>>((const float*)in, (float*)out);
}
"""

BATCH = 132 * 512


def setup():
    x = torch.randn(BATCH, 32, 48, device="cuda")
    cov = x @ x.transpose(1, 2) + 0.1 * torch.eye(32, device="cuda")
    return {"lib": cubuild.load(SRC, "chol"), "cov": cov, "low": torch.empty_like(cov)}


def step(s):
    s["lib"].factor(cubuild.p(s["cov"]), cubuild.p(s["low"]), BATCH, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
