"""Radial-basis field of many point clusters; sources are staged in shared memory."""
import ctypes

import torch

import cubuild
from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SRC = r"""
constexpr int SOURCES = 10000, THREADS = 1024, PER = 4;

__global__ void __launch_bounds__(THREADS, 1) rbf(const float4* __restrict__ src, const float4* __restrict__ tgt,
                                                  float* __restrict__ out, float c0, float c1, float c2) {
    extern __shared__ float4 s[];
    const float4* mine = src + (size_t)blockIdx.x * SOURCES;
    for (int i = threadIdx.x; i < SOURCES; i += THREADS) s[i] = mine[i];
    float4 t[PER];
    float acc[PER];
    size_t base = (size_t)blockIdx.x * THREADS * PER + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER; ++k) { t[k] = tgt[base + k * THREADS]; acc[k] = 0.f; }
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < SOURCES; ++j) {
        float4 q = s[j];
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            float dx = q.x - t[k].x, dy = q.y - t[k].y, dz = q.z - t[k].z;
            float r2 = dx * dx + dy * dy + dz * dz;
            acc[k] += q.w * (c0 + r2 * (c1 + r2 * c2));
        }
    }
#pragma unroll
    for (int k = 0; k < PER; ++k) out[base + k * THREADS] = acc[k];
}
extern "C" void run(const float* src, const float* tgt, float* out, int clusters, cudaStream_t st) {
    int bytes = SOURCES * sizeof(float4);
    cudaFuncSetAttribute(rbf, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    rbf<<<clusters, THREADS, bytes, st>>>((const float4*)src, (const float4*)tgt, out, 1.f, -0.5f, 0.041f);
}
"""
CLUSTERS = 144


def setup():
    lib = cubuild.load(SRC, "rbf")
    src = torch.rand(CLUSTERS, 10000, 4, device=DEV)
    tgt = torch.rand(CLUSTERS, 4096, 4, device=DEV)
    out = torch.empty(CLUSTERS, 4096, device=DEV)
    return {"lib": lib, "src": src, "tgt": tgt, "out": out}


def step(s):
    s["lib"].run(cubuild.p(s["src"]), cubuild.p(s["tgt"]), cubuild.p(s["out"]), CLUSTERS, cubuild.stream())


if __name__ == "__main__":
    main(setup, step, steps=5, warmup=2)
