"""Filter bank for bat-call detection: eight band filters over a long recording."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define BANDS 8

__global__ void filter_bank(const float* in, const float* taps, float* out, int n, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + length > n) return;
    for (int b = 0; b < BANDS; ++b) out[(size_t)b * n + i] = 0.0f;
    for (int k = 0; k < length; ++k)
        for (int b = 0; b < BANDS; ++b)
            out[(size_t)b * n + i] += taps[b * length + k] * in[i + k];
}

extern "C" void bands(const void* in, const void* taps, void* out, int n, int length, void* stream) {
    filter_bank<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
        (const float*)in, (const float*)taps, (float*)out, n, length);
}
"""

N, LENGTH = 8_000_000, 128


def setup():
    return {
        "lib": cubuild.load(SRC, "bands"),
        "x": torch.randn(N, device="cuda"),
        "w": torch.randn(8, LENGTH, device="cuda") / LENGTH,
        "y": torch.zeros(8, N, device="cuda"),
    }


def step(s):
    s["lib"].bands(cubuild.p(s["x"]), cubuild.p(s["w"]), cubuild.p(s["y"]), N, LENGTH, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
