"""Replica exchange for a spin glass: every replica sweeps on its own."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define L 384
#define THREADS 1024

__device__ __forceinline__ unsigned hash(unsigned a) {
    a ^= a >> 16; a *= 0x7feb352du; a ^= a >> 15; a *= 0x846ca68bu; a ^= a >> 16;
    return a;
}

__global__ void __launch_bounds__(THREADS) sweep(signed char* __restrict__ state, const float* __restrict__ beta,
                                                 int sweeps, unsigned seed) {
    extern __shared__ signed char spin[];
    signed char* mine = state + (size_t)blockIdx.x * L * L;
    for (int i = threadIdx.x; i < L * L / 4; i += THREADS) ((int*)spin)[i] = ((const int*)mine)[i];
    __syncthreads();
    float b2 = 2.0f * beta[blockIdx.x];
    unsigned base = hash(seed + blockIdx.x * 9781u);
    for (int s = 0; s < sweeps; ++s) {
        for (int colour = 0; colour < 2; ++colour) {
            for (int h = threadIdx.x; h < L * L / 2; h += THREADS) {
                int y = h / (L / 2);
                int x = 2 * (h % (L / 2)) + ((y + colour) & 1);
                int up = y == 0 ? L - 1 : y - 1, dn = y == L - 1 ? 0 : y + 1;
                int lf = x == 0 ? L - 1 : x - 1, rt = x == L - 1 ? 0 : x + 1;
                int f = spin[up * L + x] + spin[dn * L + x] + spin[y * L + lf] + spin[y * L + rt];
                int v = spin[y * L + x];
                float gain = __expf(-b2 * v * f);
                unsigned r = hash(base ^ (unsigned)(s * 2 + colour) * 747796405u ^ (unsigned)h * 2891336453u);
                if ((r >> 8) * 5.9604645e-8f < gain) spin[y * L + x] = (signed char)-v;
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < L * L / 4; i += THREADS) ((int*)mine)[i] = ((const int*)spin)[i];
}

extern "C" int sweep_all(void* state, const void* beta, int replicas, int sweeps, unsigned seed, void* stream) {
    cudaError_t e = cudaFuncSetAttribute(sweep, cudaFuncAttributeMaxDynamicSharedMemorySize, L * L);
    if (e != cudaSuccess) return (int)e;
    sweep<<<replicas, THREADS, L * L, (cudaStream_t)stream>>>((signed char*)state, (const float*)beta, sweeps, seed);
    return (int)cudaGetLastError();
}
"""

REPLICAS, L, SWEEPS = 140, 384, 60


def setup():
    state = torch.randint(0, 2, (REPLICAS, L, L), device="cuda", dtype=torch.int8) * 2 - 1
    beta = torch.linspace(0.2, 0.8, REPLICAS, device="cuda")
    return {"lib": cubuild.load(SRC, "sweep"), "state": state, "beta": beta, "i": 0}


def step(s):
    s["i"] += 1
    rc = s["lib"].sweep_all(cubuild.p(s["state"]), cubuild.p(s["beta"]), REPLICAS, SWEEPS, s["i"], cubuild.stream())
    assert rc == 0, rc


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
