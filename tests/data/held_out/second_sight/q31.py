"""Deblurring step: correlate sky images with a measured point-spread function."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define R 7
#define D (2 * R + 1)

__constant__ float psf[D * D];

__global__ void __launch_bounds__(256) correlate(const float* __restrict__ in, float* __restrict__ out, int side, int pitch) {
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    in += (size_t)blockIdx.z * pitch * pitch;
    out += (size_t)blockIdx.z * side * side;
    const float* p = in + (size_t)y * pitch + x;
    float sum = 0.0f;
    for (int dy = 0; dy < D; ++dy) {
        #pragma unroll
        for (int dx = 0; dx < D; ++dx) sum = fmaf(psf[dy * D + dx], p[dx], sum);
        p += pitch;
    }
    out[(size_t)y * side + x] = sum;
}

extern "C" int prepare(const float* w) { return (int)cudaMemcpyToSymbol(psf, w, sizeof(psf)); }

extern "C" void deblur(const void* in, void* out, int images, int side, void* stream) {
    correlate<<<dim3(side / 32, side / 8, images), dim3(32, 8), 0, (cudaStream_t)stream>>>(
        (const float*)in, (float*)out, side, side + 2 * R);
}
"""

IMAGES, SIDE = 8, 4096


def setup():
    lib = cubuild.load(SRC, "psf")
    w = torch.rand(225)
    assert lib.prepare(cubuild.p(w / w.sum())) == 0
    return {
        "lib": lib,
        "x": torch.rand(IMAGES, SIDE + 14, SIDE + 14, device="cuda"),
        "y": torch.empty(IMAGES, SIDE, SIDE, device="cuda"),
    }


def step(s):
    s["lib"].deblur(cubuild.p(s["x"]), cubuild.p(s["y"]), IMAGES, SIDE, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
