"""Optimizer update over one flat parameter buffer."""
import ctypes

import torch

import cubuild

COUNT = 64 * 1024 * 1024

SRC = r"""
#include <cuda_runtime.h>

__device__ __forceinline__ void one(float& p, float g, float& m, float& v, float lr, float b1, float b2, float eps, float wd) {
  m = b1 * m + (1.f - b1) * g;
  v = b2 * v + (1.f - b2) * g * g;
  p -= lr * (__fdividef(m, sqrtf(v) + eps) + wd * p);
}

__global__ void __launch_bounds__(256) adam_update(float4* __restrict__ p, const float4* __restrict__ g,
                                                   float4* __restrict__ m, float4* __restrict__ v, size_t n4,
                                                   float lr, float b1, float b2, float eps, float wd) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 P = p[i], G = g[i], M = m[i], V = v[i];
  one(P.x, G.x, M.x, V.x, lr, b1, b2, eps, wd);
  one(P.y, G.y, M.y, V.y, lr, b1, b2, eps, wd);
  one(P.z, G.z, M.z, V.z, lr, b1, b2, eps, wd);
  one(P.w, G.w, M.w, V.w, lr, b1, b2, eps, wd);
  p[i] = P;
  m[i] = M;
  v[i] = V;
}

extern "C" void run(void* p, const void* g, void* m, void* v, long long n, cudaStream_t st) {
  size_t n4 = n / 4;
  adam_update<<<(unsigned)((n4 + 255) / 256), 256, 0, st>>>((float4*)p, (const float4*)g, (float4*)m, (float4*)v, n4,
                                                           1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f);
}
"""


def setup():
    lib = cubuild.load(SRC, "adam_update")
    t = [torch.rand(COUNT, device="cuda") for _ in range(4)]
    return {"lib": lib, "t": t}


def step(s):
    s["lib"].run(*(cubuild.p(t) for t in s["t"]), ctypes.c_longlong(COUNT), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
