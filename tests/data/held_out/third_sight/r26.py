"""All-pairs gravitational forces."""
import ctypes

import torch

import cubuild

BODIES = 132 * 1024

SRC = r"""
#include <cuda_runtime.h>

#define T 128

__device__ __forceinline__ void pull(float3& f, float4 a, float4 b) {
  float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
  float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-3f)));
  float r = rsqrtf(r2);
  float s = b.w * r * r * r;
  f.x = fmaf(dx, s, f.x);
  f.y = fmaf(dy, s, f.y);
  f.z = fmaf(dz, s, f.z);
}

__global__ void __launch_bounds__(T) forces(const float4* __restrict__ body, float4* __restrict__ out, int n) {
  __shared__ float4 tile[2][T];
  const int i0 = blockIdx.x * (2 * T) + threadIdx.x, i1 = i0 + T;
  const float4 a0 = body[i0], a1 = body[i1];
  float3 f0 = {0.f, 0.f, 0.f}, f1 = {0.f, 0.f, 0.f};
  int cur = 0;
  tile[0][threadIdx.x] = body[threadIdx.x];
  __syncthreads();
  for (int j0 = 0; j0 < n; j0 += T) {
    float4 next = make_float4(0.f, 0.f, 0.f, 0.f);
    if (j0 + T < n) next = body[j0 + T + threadIdx.x];
#pragma unroll 16
    for (int j = 0; j < T; ++j) {
      float4 b = tile[cur][j];
      pull(f0, a0, b);
      pull(f1, a1, b);
    }
    tile[cur ^ 1][threadIdx.x] = next;
    __syncthreads();
    cur ^= 1;
  }
  out[i0] = make_float4(f0.x, f0.y, f0.z, 0.f);
  out[i1] = make_float4(f1.x, f1.y, f1.z, 0.f);
}

extern "C" void run(const void* body, void* out, int n, cudaStream_t st) {
  forces<<<n / (2 * T), T, 0, st>>>((const float4*)body, (float4*)out, n);
}
"""


def setup():
    lib = cubuild.load(SRC, "forces", flags=("-use_fast_math",))
    b = torch.rand(BODIES, 4, device="cuda")
    return {"lib": lib, "b": b, "f": torch.empty_like(b)}


def step(s):
    s["lib"].run(cubuild.p(s["b"]), cubuild.p(s["f"]), ctypes.c_int(BODIES), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
