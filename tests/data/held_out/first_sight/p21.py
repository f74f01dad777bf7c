"""Progressive volume renderer."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void march_rays(const int* __restrict__ order, float* __restrict__ img,
                           int width, int height, float phase) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= width * height) return;
    int pix = order[k];
    float x = (pix % width + 0.5f) / width;
    float y = (pix / width + 0.5f) / height;
    float dx = x - 0.5f, dy = y - 0.5f;
    float body = (dx * dx + dy * dy < 0.3f) ? 300.0f : 0.02f;
    const int max_steps = 640;
    float dz = 1.0f / max_steps;
    float T = 1.0f, rad = 0.0f;
    for (int s = 0; s < max_steps; ++s) {
        float z = (s + 0.5f) * dz;
        float n = __sinf(9.0f * z + 5.0f * x + phase) * __cosf(7.0f * y + 3.0f * z);
        float a = 1.0f - __expf(-body * (1.0f + 0.5f * n) * dz);
        float glow = 0.5f + 0.5f * __sinf(20.0f * z + n);
        rad += T * a * glow;
        T *= 1.0f - a;
        if (T < 1e-3f) break;
    }
    img[pix] = rad;
}

extern "C" void render(const void* order, void* img, int w, int h, float phase, void* stream) {
    int n = w * h;
    march_rays<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const int*)order, (float*)img, w, h, phase);
}
"""

W = H = 2048


def setup():
    lib = cubuild.load(SRC, "render")
    order = torch.randperm(W * H, device="cuda").to(torch.int32)
    return {"lib": lib, "order": order, "img": torch.zeros(H, W, device="cuda"), "t": 0}


def step(s):
    s["t"] += 1
    s["lib"].render(
        cubuild.p(s["order"]), cubuild.p(s["img"]), W, H, ctypes.c_float(0.1 * s["t"]), cubuild.stream()
    )
    s["tone"] = s["img"].clamp(0, 1).sqrt().mul(255).to(torch.uint8)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
