"""Three-dimensional wave propagation with an eighth-order stencil."""
import ctypes

import torch

import cubuild

N = 256
SUBSTEPS = 20

SRC = r"""
#include <cuda_runtime.h>

__constant__ float W[5] = {-2.84722222f, 1.6f, -0.2f, 0.02539683f, -0.00178571f};

__global__ void laplacian(const float* __restrict__ u, float* __restrict__ lap, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x < 4 || y < 4 || z < 4 || x >= n - 4 || y >= n - 4 || z >= n - 4) return;
  size_t sy = n, sz = (size_t)n * n;
  size_t i = z * sz + y * sy + x;
  float acc = 3.f * W[0] * u[i];
#pragma unroll
  for (int k = 1; k <= 4; ++k)
    acc += W[k] * (u[i - k] + u[i + k] + u[i - k * sy] + u[i + k * sy] + u[i - k * sz] + u[i + k * sz]);
  lap[i] = acc;
}

__global__ void advance(const float* __restrict__ u, float* __restrict__ prev, const float* __restrict__ lap,
                        const float* __restrict__ c2, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) prev[i] = 2.f * u[i] - prev[i] + c2[i] * lap[i];
}

extern "C" int wave_step(float* u, float* prev, const float* c2, int n, cudaStream_t st) {
  size_t total = (size_t)n * n * n;
  float* lap = nullptr;
  if (cudaMalloc(&lap, total * sizeof(float)) != cudaSuccess) return 1;
  cudaMemsetAsync(lap, 0, total * sizeof(float), st);
  dim3 b(32, 8), g((n + 31) / 32, (n + 7) / 8, n);
  laplacian<<<g, b, 0, st>>>(u, lap, n);
  advance<<<(unsigned)((total + 255) / 256), 256, 0, st>>>(u, prev, lap, c2, total);
  cudaFree(lap);
  return (int)cudaGetLastError();
}
"""


def setup():
    lib = cubuild.load(SRC, "wave3d")
    u = torch.zeros(N, N, N, device="cuda")
    u[N // 2, N // 2, N // 2] = 1.0
    return {
        "lib": lib,
        "u": u,
        "prev": torch.zeros_like(u),
        "c2": torch.full_like(u, 0.05),
    }


def step(s):
    for _ in range(SUBSTEPS):
        rc = s["lib"].wave_step(
            cubuild.p(s["u"]), cubuild.p(s["prev"]), cubuild.p(s["c2"]), ctypes.c_int(N), cubuild.stream()
        )
        assert rc == 0, rc
        s["u"], s["prev"] = s["prev"], s["u"]


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=1)
