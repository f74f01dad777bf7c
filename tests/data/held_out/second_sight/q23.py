"""Luma extraction for a document scanner: packed RGB pages to grey."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void luma(const unsigned char* rgb, unsigned char* grey, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    size_t i = (size_t)y * width + x;
    unsigned char r = rgb[3 * i];
    unsigned char g = rgb[3 * i + 1];
    unsigned char b = rgb[3 * i + 2];
    grey[i] = (unsigned char)(0.299f * r + 0.587f * g + 0.114f * b + 0.5f);
}

extern "C" void to_grey(const void* rgb, void* grey, int w, int h, void* stream) {
    dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
    luma<<<grid, block, 0, (cudaStream_t)stream>>>((const unsigned char*)rgb, (unsigned char*)grey, w, h);
}
"""

W, H = 10240, 40960


def setup():
    rgb = torch.randint(0, 256, (H, W, 3), dtype=torch.uint8, device="cuda")
    return {"lib": cubuild.load(SRC, "luma"), "rgb": rgb, "grey": torch.empty(H, W, dtype=torch.uint8, device="cuda")}


def step(s):
    s["lib"].to_grey(cubuild.p(s["rgb"]), cubuild.p(s["grey"]), W, H, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
