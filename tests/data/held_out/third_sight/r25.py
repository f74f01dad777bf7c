"""Peak and energy of each channel of a long multichannel recording."""
import ctypes

import torch

import cubuild

CHANNELS, SAMPLES = 8, 16 * 1024 * 1024

SRC = r"""
#include <cuda_runtime.h>

__global__ void __launch_bounds__(1024) channel_level(const float4* __restrict__ x, float2* __restrict__ out, size_t n4) {
  __shared__ float2 part[32];
  const float4* row = x + (size_t)blockIdx.x * n4;
  float e0 = 0.f, e1 = 0.f, e2 = 0.f, e3 = 0.f, peak = 0.f;
#pragma unroll 4
  for (size_t i = threadIdx.x; i < n4; i += 1024) {
    float4 a = row[i];
    e0 += a.x * a.x;
    e1 += a.y * a.y;
    e2 += a.z * a.z;
    e3 += a.w * a.w;
    peak = fmaxf(peak, fmaxf(fmaxf(fabsf(a.x), fabsf(a.y)), fmaxf(fabsf(a.z), fabsf(a.w))));
  }
  float e = (e0 + e1) + (e2 + e3);
  for (int d = 16; d; d >>= 1) {
    e += __shfl_xor_sync(0xffffffffu, e, d);
    peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, d));
  }
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = make_float2(e, peak);
  __syncthreads();
  if (threadIdx.x < 32) {
    float2 q = part[threadIdx.x];
    for (int d = 16; d; d >>= 1) {
      q.x += __shfl_xor_sync(0xffffffffu, q.x, d);
      q.y = fmaxf(q.y, __shfl_xor_sync(0xffffffffu, q.y, d));
    }
    if (threadIdx.x == 0) out[blockIdx.x] = q;
  }
}

extern "C" void run(const void* x, void* out, int channels, long long n, cudaStream_t st) {
  channel_level<<<channels, 1024, 0, st>>>((const float4*)x, (float2*)out, (size_t)n / 4);
}
"""


def setup():
    lib = cubuild.load(SRC, "channel_level")
    return {"lib": lib, "x": torch.randn(CHANNELS, SAMPLES, device="cuda"), "out": torch.empty(CHANNELS, 2, device="cuda")}


def step(s):
    s["lib"].run(cubuild.p(s["x"]), cubuild.p(s["out"]), ctypes.c_int(CHANNELS), ctypes.c_longlong(SAMPLES), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
