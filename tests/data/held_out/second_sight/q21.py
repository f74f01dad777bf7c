"""Interferometer model: predicted visibilities for a sky of point sources."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define TILE 128

struct Source { float l, m, n, flux; };

__global__ void __launch_bounds__(TILE) predict(const float* __restrict__ u, const float* __restrict__ v,
                                                const float* __restrict__ w, const Source* __restrict__ sky,
                                                float2* __restrict__ vis, int sources) {
    __shared__ Source sh[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float uu = u[i], vv = v[i], ww = w[i];
    float re = 0.0f, im = 0.0f;
    for (int t = 0; t < sources; t += TILE) {
        sh[threadIdx.x] = sky[t + threadIdx.x];
        __syncthreads();
        #pragma unroll 4
        for (int j = 0; j < TILE; ++j) {
            float phase = 6.283185307f * (uu * sh[j].l + vv * sh[j].m + ww * sh[j].n);
            float s, c;
            sincosf(phase, &s, &c);
            re = fmaf(sh[j].flux, c, re);
            im = fmaf(-sh[j].flux, s, im);
        }
        __syncthreads();
    }
    vis[i] = make_float2(re, im);
}

extern "C" void visibilities(const void* u, const void* v, const void* w, const void* sky, void* vis,
                             int n, int sources, void* stream) {
    predict<<<n / TILE, TILE, 0, (cudaStream_t)stream>>>((const float*)u, (const float*)v, (const float*)w,
                                                         (const Source*)sky, (float2*)vis, sources);
}
"""

N, SOURCES = 132 * 64 * 128, 512


def setup():
    dev = "cuda"
    sky = torch.rand(SOURCES, 4, device=dev)
    sky[:, :2] = (sky[:, :2] - 0.5) * 0.3
    sky[:, 2] = (1 - sky[:, :2].square().sum(1)).sqrt() - 1
    return {
        "lib": cubuild.load(SRC, "visib"),
        "u": torch.randn(N, device=dev) * 6e5,
        "v": torch.randn(N, device=dev) * 6e5,
        "w": torch.randn(N, device=dev) * 2e4,
        "sky": sky,
        "vis": torch.empty(N, 2, device=dev),
    }


def step(s):
    s["lib"].visibilities(*(cubuild.p(s[k]) for k in ("u", "v", "w", "sky", "vis")), N, SOURCES, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
