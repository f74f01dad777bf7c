"""Gravitational accelerations for a star cluster."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define B 128

__global__ void __launch_bounds__(B) gravity(const float4* __restrict__ body, float4* __restrict__ acc, int n, float eps2) {
    __shared__ float4 sh[B];
    int i = blockIdx.x * B + threadIdx.x;
    float4 me = body[i];
    float ax = 0.f, ay = 0.f, az = 0.f;
    for (int t = 0; t < n; t += B) {
        sh[threadIdx.x] = body[t + threadIdx.x];
        __syncthreads();
        #pragma unroll 16
        for (int j = 0; j < B; ++j) {
            float4 o = sh[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, eps2)));
            float inv = rsqrtf(r2);
            float f = o.w * inv * inv * inv;
            ax = fmaf(f, dx, ax);
            ay = fmaf(f, dy, ay);
            az = fmaf(f, dz, az);
        }
        __syncthreads();
    }
    acc[i] = make_float4(ax, ay, az, 0.f);
}

extern "C" void accelerations(const void* body, void* acc, int n, float eps2, void* stream) {
    gravity<<<n / B, B, 0, (cudaStream_t)stream>>>((const float4*)body, (float4*)acc, n, eps2);
}
"""

N = 132 * 8 * 128


def setup():
    body = torch.randn(N, 4, device="cuda")
    body[:, 3] = 1.0 / N
    return {
        "lib": cubuild.load(SRC, "gravity", ["--use_fast_math"]),
        "body": body,
        "vel": torch.zeros(N, 4, device="cuda"),
        "acc": torch.zeros(N, 4, device="cuda"),
    }


def step(s):
    s["lib"].accelerations(
        cubuild.p(s["body"]), cubuild.p(s["acc"]), N, ctypes.c_float(1e-4), cubuild.stream()
    )
    s["vel"].add_(s["acc"], alpha=1e-3)
    s["body"].add_(s["vel"], alpha=1e-3)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
