"""Advance particles of four species by a few sub-steps."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
__global__ void advance(const unsigned char* __restrict__ kind, float* __restrict__ pos, float* __restrict__ vel, int n, int sub) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = pos[i], v = vel[i];
    const float h = 1e-3f;
    switch (kind[i]) {
        case 0:
            for (int k = 0; k < sub; ++k) { v -= h * __sinf(p) * 9.81f; p += h * v; }
            break;
        case 1:
            for (int k = 0; k < sub; ++k) { float r = rsqrtf(p * p + 0.01f); v -= h * p * r * r * r; p += h * v; }
            break;
        case 2:
            for (int k = 0; k < sub; ++k) { v += h * (__expf(-fabsf(p)) - 0.2f * v); p += h * v; }
            break;
        default:
            for (int k = 0; k < sub; ++k) { float a = (1.f - p * p) * v * 0.7f - p; v += h * a; p += h * (v + 0.5f * h * a); }
    }
    pos[i] = p;
    vel[i] = v;
}
extern "C" void launch(const void* k, void* p, void* v, int n, int sub, void* st) {
    advance<<<(n + 255) / 256, 256, 0, (cudaStream_t)st>>>((const unsigned char*)k, (float*)p, (float*)v, n, sub);
}
"""
N = 4 << 20


class Swarm:
    def __init__(self):
        self.lib = cubuild.load(SRC, "advance")
        self.kind = torch.randint(0, 4, (N,), device="cuda", dtype=torch.uint8)
        self.p = torch.rand(N, device="cuda")
        self.v = torch.randn(N, device="cuda") * 0.1


def step(s):
    s.lib.launch(cubuild.p(s.kind), cubuild.p(s.p), cubuild.p(s.v), ctypes.c_int(N), ctypes.c_int(96), cubuild.stream())


if __name__ == "__main__":
    main(Swarm, step, steps=2, warmup=1)
