"""Heat diffusion in a solid block, explicit step."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void __launch_bounds__(512) diffuse(const float* __restrict__ in, float* __restrict__ out, int n, int depth, float k) {
    const int x = blockIdx.x * 64 + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    const int z0 = blockIdx.z * depth;
    const size_t plane = (size_t)n * n;
    const bool inner = x > 0 && x < n - 1 && y > 0 && y < n - 1;
    size_t i = (size_t)z0 * plane + (size_t)y * n + x;
    float below = z0 > 0 ? in[i - plane] : in[i];
    float here = in[i];
    #pragma unroll 8
    for (int z = z0; z < z0 + depth; ++z) {
        float above = z < n - 1 ? in[i + plane] : here;
        float v = here;
        if (inner) v += k * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + below + above - 6.0f * here);
        out[i] = v;
        below = here;
        here = above;
        i += plane;
    }
}

extern "C" void advance(const void* in, void* out, int n, float k, void* stream) {
    const int depth = 32;
    diffuse<<<dim3(n / 64, n / 8, n / depth), dim3(64, 8), 0, (cudaStream_t)stream>>>(
        (const float*)in, (float*)out, n, depth, k);
}
"""

SIDE = 1024


def setup():
    a = torch.rand(SIDE, SIDE, SIDE, device="cuda")
    return {"lib": cubuild.load(SRC, "diffuse"), "a": a, "b": torch.empty_like(a)}


def step(s):
    s["lib"].advance(cubuild.p(s["a"]), cubuild.p(s["b"]), SIDE, ctypes.c_float(0.1), cubuild.stream())
    s["a"], s["b"] = s["b"], s["a"]


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
