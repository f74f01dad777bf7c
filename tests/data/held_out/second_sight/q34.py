"""Cross-section lookup for neutron histories on a unionised energy grid."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void __launch_bounds__(256) lookup(const float* __restrict__ energy, const float* __restrict__ grid,
                                              const float2* __restrict__ xs, float2* __restrict__ out,
                                              int particles, int points) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles) return;
    float e = energy[i];
    int lo = 0, hi = points - 1;
    while (hi - lo > 1) {
        int mid = (lo + hi) >> 1;
        if (grid[mid] > e) hi = mid; else lo = mid;
    }
    float a = grid[lo], b = grid[hi];
    float t = (e - a) / (b - a + 1e-30f);
    float2 p = xs[lo], q = xs[hi];
    out[i] = make_float2(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y));
}

extern "C" void sections(const void* e, const void* g, const void* xs, void* out, int n, int points, void* stream) {
    lookup<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float*)e, (const float*)g, (const float2*)xs,
                                                             (float2*)out, n, points);
}
"""

PARTICLES, POINTS = 20_000_000, 120_000_000


def setup():
    dev = "cuda"
    return {
        "lib": cubuild.load(SRC, "sections"),
        "e": torch.rand(PARTICLES, device=dev),
        "grid": torch.linspace(0, 1, POINTS, device=dev),
        "xs": torch.rand(POINTS, 2, device=dev),
        "out": torch.empty(PARTICLES, 2, device=dev),
    }


def step(s):
    s["lib"].sections(*(cubuild.p(s[k]) for k in ("e", "grid", "xs", "out")), PARTICLES, POINTS, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
