"""European option prices for a large book, averaged over four volatility scenarios."""
import ctypes

import torch

import cubuild
from runner import main

SRC = r"""
#include <cuda_runtime.h>
#include <math.h>
__device__ float cnd(float d) {
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float w = 0.39894228040143267794 * exp(-0.5 * d * d) *
              (k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - w : w;
}
__global__ void price_book(const float* __restrict__ s, const float* __restrict__ x, const float* __restrict__ t, float* __restrict__ call, float* __restrict__ put, int n, float r, float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float S = s[i], X = x[i], T = t[i];
    float q = sqrt(T), lg = log(S / X);
    float e = exp(-1.0 * r * T);
    float c = 0.f, p = 0.f;
    for (int k = 0; k < 4; ++k) {
        float vol = v * (0.8 + 0.1 * k);
        float d1 = (lg + (r + 0.5 * vol * vol) * T) / (vol * q);
        float d2 = d1 - vol * q;
        float c1 = cnd(d1), c2 = cnd(d2);
        c += 0.25 * (S * c1 - X * e * c2);
        p += 0.25 * (X * e * (1.0 - c2) - S * (1.0 - c1));
    }
    call[i] = c;
    put[i] = p;
}
extern "C" void launch(const void* s, const void* x, const void* t, void* c, void* p, int n, void* st) {
    price_book<<<(n + 255) / 256, 256, 0, (cudaStream_t)st>>>((const float*)s, (const float*)x, (const float*)t, (float*)c, (float*)p, n, 0.02f, 0.30f);
}
"""
N = 32 << 20


def setup():
    lib = cubuild.load(SRC, "price_book")
    u = lambda a, b: torch.empty(N, device="cuda").uniform_(a, b)
    return lib, [u(5, 30), u(1, 100), u(0.25, 10), torch.empty(N, device="cuda"), torch.empty(N, device="cuda")]


def step(st):
    lib, bufs = st
    lib.launch(*[cubuild.p(b) for b in bufs], ctypes.c_int(N), cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=2, warmup=1)
