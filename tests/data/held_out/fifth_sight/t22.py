"""Unpacks an int8 weight store to half precision with one scale per row."""
import ctypes

import torch

import cubuild
from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SRC = r"""
#include <cuda_fp16.h>
#include <cstdint>

__global__ void unpack(const int8_t* __restrict__ q, const float* __restrict__ scale,
                       __half* __restrict__ out, unsigned n, int shift) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half_rn(q[i] * scale[i >> shift]);
}
extern "C" void run(const int8_t* q, const float* scale, void* out, unsigned n, int shift, cudaStream_t st) {
    unpack<<<(n + 255) / 256, 256, 0, st>>>(q, scale, (__half*)out, n, shift);
}
"""
ROWS, COLS, SHIFT = 512 * 1024, 4096, 12


def setup():
    lib = cubuild.load(SRC, "unpack")
    q = torch.randint(-127, 127, (ROWS, COLS), dtype=torch.int8, device=DEV)
    scale = torch.rand(ROWS, device=DEV)
    return {"lib": lib, "q": q, "scale": scale, "out": torch.empty(ROWS, COLS, dtype=torch.half, device=DEV)}


def step(s):
    s["lib"].run(
        cubuild.p(s["q"]), cubuild.p(s["scale"]), cubuild.p(s["out"]),
        ctypes.c_uint(ROWS * COLS), SHIFT, cubuild.stream(),
    )


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
