"""Single-precision matrix product with an 8 x 8 register tile."""
import ctypes

import torch

import cubuild

M = N = K = 3072

SRC = r"""
#include <cuda_runtime.h>

#define BM 128
#define BN 128
#define BK 8

__global__ void __launch_bounds__(256, 4) sgemm_tile(const float* __restrict__ A, const float* __restrict__ B,
                                                     float* __restrict__ C, int m, int n, int k) {
  __shared__ float As[BK][BM + 4];
  __shared__ float Bs[BK][BN];
  const int t = threadIdx.x;
  const int tx = t % 16, ty = t / 16;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  const int ar = t / 2, ac = (t % 2) * 4;
  const int br = t / 32, bc = (t % 32) * 4;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    float4 a4 = *(const float4*)&A[(size_t)(row0 + ar) * k + k0 + ac];
    float4 b4 = *(const float4*)&B[(size_t)(k0 + br) * n + col0 + bc];
    As[ac][ar] = a4.x;
    As[ac + 1][ar] = a4.y;
    As[ac + 2][ar] = a4.z;
    As[ac + 3][ar] = a4.w;
    *(float4*)&Bs[br][bc] = b4;
    __syncthreads();
#pragma unroll
    for (int q = 0; q < BK; ++q) {
      float a[8], b[8];
      *(float4*)&a[0] = *(float4*)&As[q][ty * 4];
      *(float4*)&a[4] = *(float4*)&As[q][64 + ty * 4];
      *(float4*)&b[0] = *(float4*)&Bs[q][tx * 4];
      *(float4*)&b[4] = *(float4*)&Bs[q][64 + tx * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int r = row0 + (i < 4 ? ty * 4 + i : 64 + ty * 4 + i - 4);
    *(float4*)&C[(size_t)r * n + col0 + tx * 4] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *(float4*)&C[(size_t)r * n + col0 + 64 + tx * 4] = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
  }
}

extern "C" void run(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t st) {
  sgemm_tile<<<dim3(n / BN, m / BM), 256, 0, st>>>(a, b, c, m, n, k);
}
"""


def setup():
    lib = cubuild.load(SRC, "sgemm_tile")
    return {
        "lib": lib,
        "a": torch.randn(M, K, device="cuda"),
        "b": torch.randn(K, N, device="cuda"),
        "c": torch.empty(M, N, device="cuda"),
    }


def step(s):
    p, i = cubuild.p, ctypes.c_int
    s["lib"].run(p(s["a"]), p(s["b"]), p(s["c"]), i(M), i(N), i(K), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
