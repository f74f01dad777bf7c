"""Direct-sum gravity between all bodies of a cluster."""
import ctypes

import torch

import cubuild
from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SRC = r"""
constexpr int THREADS = 128, PER = 2;

__device__ __forceinline__ void pull(float3& acc, float4 me, float4 o, float eps2) {
    float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
    float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, eps2)));
    float inv;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inv) : "f"(r2));
    float f = o.w * inv * inv * inv;
    acc.x = fmaf(dx, f, acc.x); acc.y = fmaf(dy, f, acc.y); acc.z = fmaf(dz, f, acc.z);
}

__global__ void __launch_bounds__(THREADS) gravity(const float4* __restrict__ body, float4* __restrict__ out,
                                                   int n, float eps2) {
    __shared__ float4 tile[THREADS * PER];
    int base = blockIdx.x * THREADS * PER + threadIdx.x;
    float4 me[PER];
    float3 acc[PER];
#pragma unroll
    for (int k = 0; k < PER; ++k) { me[k] = body[base + k * THREADS]; acc[k] = make_float3(0.f, 0.f, 0.f); }
    for (int t = 0; t < n; t += THREADS * PER) {
#pragma unroll
        for (int k = 0; k < PER; ++k) tile[threadIdx.x + k * THREADS] = body[t + threadIdx.x + k * THREADS];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < THREADS * PER; ++j) {
            float4 o = tile[j];
#pragma unroll
            for (int k = 0; k < PER; ++k) pull(acc[k], me[k], o, eps2);
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < PER; ++k) out[base + k * THREADS] = make_float4(acc[k].x, acc[k].y, acc[k].z, 0.f);
}
extern "C" void run(const float* body, float* out, int n, cudaStream_t st) {
    gravity<<<n / (THREADS * PER), THREADS, 0, st>>>((const float4*)body, (float4*)out, n, 1e-4f);
}
"""
BODIES = 132 * 8 * 256


def setup():
    lib = cubuild.load(SRC, "gravity")
    body = torch.rand(BODIES, 4, device=DEV)
    return {"lib": lib, "body": body, "out": torch.empty_like(body)}


def step(s):
    s["lib"].run(cubuild.p(s["body"]), cubuild.p(s["out"]), ctypes.c_int(BODIES), cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
