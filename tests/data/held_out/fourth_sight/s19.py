"""Brightness histogram of a batch of 8-bit scans."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
__global__ void count_levels(const uchar4* __restrict__ px, unsigned int* __restrict__ bins, int n4) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += stride) {
        uchar4 v = px[i];
        atomicAdd(&bins[v.x], 1u);
        atomicAdd(&bins[v.y], 1u);
        atomicAdd(&bins[v.z], 1u);
        atomicAdd(&bins[v.w], 1u);
    }
}
extern "C" void launch(const void* p, void* b, int n4, void* st) {
    count_levels<<<132 * 8, 256, 0, (cudaStream_t)st>>>((const uchar4*)p, (unsigned int*)b, n4);
}
"""
N = 1 << 24


class Hist:
    def __init__(self):
        self.lib = cubuild.load(SRC, "count_levels")
        self.px = (torch.randn(N, device="cuda") * 24 + 96).clamp_(0, 255).to(torch.uint8)
        self.bins = torch.zeros(256, dtype=torch.int32, device="cuda")

    def go(self):
        self.lib.launch(cubuild.p(self.px), cubuild.p(self.bins), ctypes.c_int(N // 4), cubuild.stream())


if __name__ == "__main__":
    main(Hist, Hist.go, steps=2, warmup=1)
