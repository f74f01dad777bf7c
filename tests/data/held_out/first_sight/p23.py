"""Two-pole equaliser applied to a bank of audio channels."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define CH 128
#define TL 32

__global__ void biquad(const float* __restrict__ in, float* __restrict__ out, int samples,
                       float b0, float b1, float b2, float a1, float a2) {
    __shared__ float tile[CH * TL];
    const size_t first = (size_t)blockIdx.x * CH;
    const int lane = threadIdx.x % TL, row0 = threadIdx.x / TL;
    float z1 = 0.0f, z2 = 0.0f;
    for (int t = 0; t < samples; t += TL) {
        #pragma unroll 8
        for (int r = row0; r < CH; r += CH / TL)
            tile[r * TL + lane] = in[(first + r) * samples + t + lane];
        __syncthreads();
        float* mine = tile + threadIdx.x * TL;
        #pragma unroll
        for (int i = 0; i < TL; ++i) {
            float x = mine[i];
            float y = b0 * x + z1;
            z1 = b1 * x - a1 * y + z2;
            z2 = b2 * x - a2 * y;
            mine[i] = y;
        }
        __syncthreads();
        #pragma unroll 8
        for (int r = row0; r < CH; r += CH / TL)
            out[(first + r) * samples + t + lane] = tile[r * TL + lane];
        __syncthreads();
    }
}

extern "C" void equalise(const void* in, void* out, int channels, int samples,
                         float b0, float b1, float b2, float a1, float a2, void* stream) {
    biquad<<<channels / CH, CH, 0, (cudaStream_t)stream>>>((const float*)in, (float*)out, samples, b0, b1, b2, a1, a2);
}
"""

CHANNELS, SAMPLES = 132 * 128 * 12, 512


def setup():
    x = torch.randn(CHANNELS, SAMPLES, device="cuda")
    return {"lib": cubuild.load(SRC, "biquad"), "x": x, "y": torch.empty_like(x)}


def step(s):
    c = [ctypes.c_float(v) for v in (0.2066, 0.4131, 0.2066, -0.3695, 0.1958)]
    s["lib"].equalise(cubuild.p(s["x"]), cubuild.p(s["y"]), CHANNELS, SAMPLES, *c, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
