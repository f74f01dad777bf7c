"""Charge deposition of a particle beam onto a transverse grid."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void deposit(const float2* __restrict__ pos, const float* __restrict__ charge,
                        float* __restrict__ grid, int n, int nx, float inv_h) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float2 p = pos[i];
        int cx = (int)(p.x * inv_h), cy = (int)(p.y * inv_h);
        cx = min(max(cx, 0), nx - 1);
        cy = min(max(cy, 0), nx - 1);
        atomicAdd(grid + cy * nx + cx, charge[i]);
    }
}

extern "C" void deposit_all(const void* pos, const void* q, void* grid, int n, int nx, float inv_h, void* stream) {
    deposit<<<132 * 8, 256, 0, (cudaStream_t)stream>>>((const float2*)pos, (const float*)q, (float*)grid, n, nx, inv_h);
}
"""

N, NX = 16_000_000, 1024


def setup():
    core = torch.randn(N, 2, device="cuda") * 0.0012 + 0.5
    halo = torch.rand(N, 2, device="cuda")
    pick = torch.rand(N, 1, device="cuda") < 0.9
    pos = torch.where(pick, core, halo).contiguous()
    return {
        "lib": cubuild.load(SRC, "deposit"),
        "pos": pos,
        "q": torch.rand(N, device="cuda"),
        "grid": torch.zeros(NX, NX, device="cuda"),
    }


def step(s):
    s["grid"].zero_()
    s["lib"].deposit_all(
        cubuild.p(s["pos"]), cubuild.p(s["q"]), cubuild.p(s["grid"]), N, NX, ctypes.c_float(NX), cubuild.stream()
    )
    s["pot"] = torch.fft.irfft2(torch.fft.rfft2(s["grid"]) * 0.5, s=(NX, NX))


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
