"""Momentum update of a flat parameter buffer."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
__device__ __forceinline__ void upd(float& p, float g, float& m, float lr, float mu, float wd) {
    m = fmaf(mu, m, fmaf(wd, p, g));
    p = fmaf(-lr, m, p);
}
__global__ void __launch_bounds__(256) momentum_update(float4* __restrict__ p, const float4* __restrict__ g, float4* __restrict__ m, int n4, float lr, float mu, float wd) {
    int i = blockIdx.x * 512 + threadIdx.x;
#pragma unroll
    for (int u = 0; u < 2; ++u, i += 256) {
        if (i < n4) {
            float4 a = p[i], b = g[i], c = m[i];
            upd(a.x, b.x, c.x, lr, mu, wd);
            upd(a.y, b.y, c.y, lr, mu, wd);
            upd(a.z, b.z, c.z, lr, mu, wd);
            upd(a.w, b.w, c.w, lr, mu, wd);
            p[i] = a;
            m[i] = c;
        }
    }
}
extern "C" void launch(void* p, const void* g, void* m, int n4, void* st) {
    momentum_update<<<(n4 + 511) / 512, 256, 0, (cudaStream_t)st>>>((float4*)p, (const float4*)g, (float4*)m, n4, 0.01f, 0.9f, 1e-4f);
}
"""
N = 96 << 20


def setup():
    lib = cubuild.load(SRC, "momentum_update")
    return lib, [torch.randn(N, device="cuda") for _ in range(3)]


def step(st):
    lib, (p, g, m) = st
    lib.launch(cubuild.p(p), cubuild.p(g), cubuild.p(m), ctypes.c_int(N // 4), cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
