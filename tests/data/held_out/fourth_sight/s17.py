"""Row moments (mean and reciprocal deviation) of a tall feature matrix."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
__global__ void row_moments(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ rstd, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* p = x + (size_t)r * cols;
    float s = 0.f, q = 0.f;
    for (int c = 0; c < cols; ++c) {
        float v = p[c];
        s += v;
        q += v * v;
    }
    float m = s / cols;
    mean[r] = m;
    rstd[r] = rsqrtf(fmaxf(q / cols - m * m, 0.f) + 1e-5f);
}
extern "C" void launch(const void* x, void* m, void* r, int rows, int cols, void* st) {
    row_moments<<<(rows + 255) / 256, 256, 0, (cudaStream_t)st>>>((const float*)x, (float*)m, (float*)r, rows, cols);
}
"""
ROWS, COLS = 540_672, 257


def setup():
    lib = cubuild.load(SRC, "row_moments")
    x = torch.randn(ROWS, COLS, device="cuda")
    return lib, x, torch.empty(ROWS, device="cuda"), torch.empty(ROWS, device="cuda")


def step(s):
    lib, x, m, r = s
    lib.launch(cubuild.p(x), cubuild.p(m), cubuild.p(r), ctypes.c_int(ROWS), ctypes.c_int(COLS), cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=3, warmup=1)
