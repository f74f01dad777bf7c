"""Layout change of feature maps, channels-first to channels-last."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define T 64

__global__ void __launch_bounds__(256) swap_axes(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[T][T + 1];
    const size_t plane = (size_t)rows * cols;
    in += blockIdx.z * plane;
    out += blockIdx.z * plane;
    const int x = threadIdx.x % T, y0 = threadIdx.x / T;
    const int c0 = blockIdx.x * T, r0 = blockIdx.y * T;
    #pragma unroll
    for (int k = 0; k < T; k += 4) tile[y0 + k][x] = in[(size_t)(r0 + y0 + k) * cols + c0 + x];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < T; k += 4) out[(size_t)(c0 + y0 + k) * rows + r0 + x] = tile[x][y0 + k];
}

extern "C" void swap(const void* in, void* out, int batch, int rows, int cols, void* stream) {
    swap_axes<<<dim3(cols / T, rows / T, batch), 256, 0, (cudaStream_t)stream>>>((const float*)in, (float*)out, rows, cols);
}
"""

BATCH, CH, HW = 32, 256, 192 * 192


def setup():
    x = torch.randn(BATCH, CH, HW, device="cuda")
    return {"lib": cubuild.load(SRC, "swap"), "x": x, "y": torch.empty(BATCH, HW, CH, device="cuda")}


def step(s):
    s["lib"].swap(cubuild.p(s["x"]), cubuild.p(s["y"]), BATCH, CH, HW, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
