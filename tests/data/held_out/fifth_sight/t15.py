"""Copies a box out of a five-dimensional volume."""
import ctypes

import torch

import cubuild
from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SRC = r"""
#include <cstdint>
struct Box { long long size[5]; long long stride[5]; long long start[5]; };

__global__ void crop5d(const float* __restrict__ src, float* __restrict__ dst, Box b, long long total) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    long long rest = i, at = 0;
#pragma unroll
    for (int d = 4; d >= 0; --d) {
        long long c = rest % b.size[d];
        rest = rest / b.size[d];
        at += (c + b.start[d]) * b.stride[d];
    }
    dst[i] = src[at];
}

extern "C" void run(const float* src, float* dst, const long long* meta, long long total, cudaStream_t st) {
    Box b;
    for (int d = 0; d < 5; ++d) { b.size[d] = meta[d]; b.stride[d] = meta[5 + d]; b.start[d] = meta[10 + d]; }
    crop5d<<<(unsigned)((total + 255) / 256), 256, 0, st>>>(src, dst, b, total);
}
"""
FULL = (16, 12, 130, 260, 264)
BOX = (16, 12, 128, 256, 256)
START = (0, 0, 1, 2, 8)


def setup():
    lib = cubuild.load(SRC, "crop5d")
    src = torch.randn(FULL, device=DEV)
    dst = torch.empty(BOX, device=DEV)
    meta = (ctypes.c_longlong * 15)(*BOX, *src.stride(), *START)
    return {"lib": lib, "src": src, "dst": dst, "meta": meta}


def step(s):
    s["lib"].run(
        cubuild.p(s["src"]), cubuild.p(s["dst"]), s["meta"],
        ctypes.c_longlong(s["dst"].numel()), cubuild.stream(),
    )


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
