"""Reaction kinetics of mixed cell populations."""
import ctypes

import torch

import cubuild

CELLS, KINDS = 8 * 1024 * 1024, 8

SRC = r"""
#include <cuda_runtime.h>

#define ITER 48

__device__ float hill(float c) { for (int i = 0; i < ITER; ++i) { float q = c * c; c += 0.01f * (q / (0.3f + q) - c); } return c; }
__device__ float decay(float c) { for (int i = 0; i < ITER; ++i) c = fmaf(-0.01f * c, 1.f + 0.1f * c, c); return c; }
__device__ float logistic(float c) { for (int i = 0; i < ITER; ++i) c = fmaf(0.02f * c, 1.f - c, c); return c; }
__device__ float burst(float c) { for (int i = 0; i < ITER; ++i) c += 0.01f * (__expf(-c) - 0.2f * c); return c; }
__device__ float cyclic(float c) { for (int i = 0; i < ITER; ++i) c += 0.02f * __sinf(3.f * c); return c; }
__device__ float sat(float c) { for (int i = 0; i < ITER; ++i) c += 0.01f * (0.8f - c / (0.5f + c)); return c; }
__device__ float root(float c) { for (int i = 0; i < ITER; ++i) c += 0.01f * (sqrtf(c + 0.1f) - c); return c; }
__device__ float cubic(float c) { for (int i = 0; i < ITER; ++i) c += 0.01f * (c - c * c * c / 3.f + 0.5f); return c; }

__global__ void kinetics(const unsigned char* __restrict__ kind, float* __restrict__ conc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float c = conc[i];
  switch (kind[i]) {
    case 0: c = hill(c); break;
    case 1: c = decay(c); break;
    case 2: c = logistic(c); break;
    case 3: c = burst(c); break;
    case 4: c = cyclic(c); break;
    case 5: c = sat(c); break;
    case 6: c = root(c); break;
    default: c = cubic(c); break;
  }
  conc[i] = c;
}

extern "C" void run(const void* kind, float* conc, int n, cudaStream_t st) {
  kinetics<<<(n + 255) / 256, 256, 0, st>>>((const unsigned char*)kind, conc, n);
}
"""


def setup():
    lib = cubuild.load(SRC, "kinetics")
    kind = torch.randint(0, KINDS, (CELLS,), device="cuda", dtype=torch.uint8)
    return {"lib": lib, "kind": kind, "c": torch.rand(CELLS, device="cuda")}


def step(s):
    s["lib"].run(cubuild.p(s["kind"]), cubuild.p(s["c"]), ctypes.c_int(CELLS), cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
