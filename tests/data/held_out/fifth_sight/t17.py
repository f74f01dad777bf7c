"""Scaled sum of two long vectors, as used inside a Krylov solver."""
import ctypes

import torch

import cubuild
from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SRC = r"""
__global__ void __launch_bounds__(512) waxpy(const float4* __restrict__ x, const float4* __restrict__ y,
                                             float4* __restrict__ w, float a, int n4) {
    int base = blockIdx.x * 2048 + threadIdx.x;
    if (base + 1536 < n4) {
        float4 p[4], q[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) { p[k] = __ldcs(x + base + k * 512); q[k] = __ldcs(y + base + k * 512); }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float4 r;
            r.x = a * p[k].x + q[k].x; r.y = a * p[k].y + q[k].y;
            r.z = a * p[k].z + q[k].z; r.w = a * p[k].w + q[k].w;
            __stcs(w + base + k * 512, r);
        }
    } else {
        for (int i = base; i < n4; i += 512) {
            float4 p = x[i], q = y[i];
            w[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
        }
    }
}
extern "C" void run(const float* x, const float* y, float* w, float a, int n4, cudaStream_t st) {
    waxpy<<<(n4 + 2047) / 2048, 512, 0, st>>>((const float4*)x, (const float4*)y, (float4*)w, a, n4);
}
"""
N = 800 * 1024 * 1024


def setup():
    lib = cubuild.load(SRC, "waxpy")
    return {"lib": lib, "v": [torch.randn(N, device=DEV) for _ in range(3)]}


def step(s):
    x, y, w = s["v"]
    s["lib"].run(cubuild.p(x), cubuild.p(y), cubuild.p(w), ctypes.c_float(0.37), N // 4, cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
