"""Row-wise inclusive prefix sums (cumulative dose along a beam)."""
import ctypes

import torch

import cubuild

ROWS, LEN = 16384, 8192

SRC = r"""
#include <cuda_runtime.h>

#define THREADS 256
#define PER 32

__global__ void __launch_bounds__(THREADS) row_scan(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float tile[THREADS * PER];
  __shared__ float warp_sum[THREADS / 32];
  const size_t base = (size_t)blockIdx.x * (THREADS * PER);
  const int t = threadIdx.x, lane = t & 31, w = t >> 5;
#pragma unroll 8
  for (int i = 0; i < PER; ++i) tile[i * THREADS + t] = x[base + i * THREADS + t];
  __syncthreads();

  float sum = 0.f;
#pragma unroll 8
  for (int i = 0; i < PER; ++i) {
    sum += tile[t * PER + i];
    tile[t * PER + i] = sum;
  }
  float incl = sum;
  for (int d = 1; d < 32; d <<= 1) {
    float o = __shfl_up_sync(0xffffffffu, incl, d);
    if (lane >= d) incl += o;
  }
  if (lane == 31) warp_sum[w] = incl;
  __syncthreads();
  float off = incl - sum;
  for (int k = 0; k < w; ++k) off += warp_sum[k];
#pragma unroll 8
  for (int i = 0; i < PER; ++i) tile[t * PER + i] += off;
  __syncthreads();
#pragma unroll 8
  for (int i = 0; i < PER; ++i) y[base + i * THREADS + t] = tile[i * THREADS + t];
}

extern "C" void run(const float* x, float* y, int rows, cudaStream_t st) { row_scan<<<rows, THREADS, 0, st>>>(x, y); }
"""


def setup():
    lib = cubuild.load(SRC, "row_scan")
    x = torch.rand(ROWS, LEN, device="cuda")
    return {"lib": lib, "x": x, "y": torch.empty_like(x)}


def step(s):
    s["lib"].run(cubuild.p(s["x"]), cubuild.p(s["y"]), ctypes.c_int(ROWS), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
