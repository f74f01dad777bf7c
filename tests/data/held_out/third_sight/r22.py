"""Energy histogram of detector events."""
import ctypes

import torch

import cubuild

EVENTS, BINS = 32 * 1024 * 1024, 64

SRC = r"""
#include <cuda_runtime.h>

__global__ void energy_histogram(const float* __restrict__ e, unsigned* __restrict__ hist, size_t n, int bins, float inv) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    int b = (int)(e[i] * inv);
    b = min(max(b, 0), bins - 1);
    atomicAdd(&hist[b], 1u);
  }
}

extern "C" void run(const float* e, unsigned* h, long long n, int bins, float inv, cudaStream_t st) {
  energy_histogram<<<132 * 8, 256, 0, st>>>(e, h, (size_t)n, bins, inv);
}
"""


def setup():
    lib = cubuild.load(SRC, "energy_histogram")
    e = torch.empty(EVENTS, device="cuda").exponential_(1.0)
    return {"lib": lib, "e": e, "h": torch.zeros(BINS, dtype=torch.int32, device="cuda")}


def step(s):
    s["lib"].run(
        cubuild.p(s["e"]), cubuild.p(s["h"]), ctypes.c_longlong(EVENTS), ctypes.c_int(BINS), ctypes.c_float(BINS / 6.0), cubuild.stream()
    )


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=3, warmup=1)
