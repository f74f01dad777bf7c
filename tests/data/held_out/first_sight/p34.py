"""Log-normaliser of large-vocabulary logits."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define THREADS 512

__device__ __forceinline__ void merge(float& m, float& s, float om, float os) {
    float hi = fmaxf(m, om);
    s = s * __expf(m - hi) + os * __expf(om - hi);
    m = hi;
}

__global__ void __launch_bounds__(THREADS) logsumexp_rows(const float4* __restrict__ x, float* __restrict__ out, int cols4) {
    __shared__ float sm[THREADS / 32], ss[THREADS / 32];
    const float4* row = x + (size_t)blockIdx.x * cols4;
    float m = -1e30f, s = 0.0f;
    for (int i = threadIdx.x; i < cols4; i += 4 * THREADS) {
        float4 v[4];
        #pragma unroll
        for (int u = 0; u < 4; ++u) v[u] = __ldcs(row + i + u * THREADS);
        float hi = m;
        #pragma unroll
        for (int u = 0; u < 4; ++u) hi = fmaxf(hi, fmaxf(fmaxf(v[u].x, v[u].y), fmaxf(v[u].z, v[u].w)));
        s *= __expf(m - hi);
        #pragma unroll
        for (int u = 0; u < 4; ++u)
            s += __expf(v[u].x - hi) + __expf(v[u].y - hi) + __expf(v[u].z - hi) + __expf(v[u].w - hi);
        m = hi;
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        merge(m, s, __shfl_xor_sync(0xffffffffu, m, o), __shfl_xor_sync(0xffffffffu, s, o));
    int w = threadIdx.x / 32, lane = threadIdx.x & 31;
    if (lane == 0) { sm[w] = m; ss[w] = s; }
    __syncthreads();
    if (w == 0) {
        m = lane < THREADS / 32 ? sm[lane] : -1e30f;
        s = lane < THREADS / 32 ? ss[lane] : 0.0f;
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1)
            merge(m, s, __shfl_xor_sync(0xffffffffu, m, o), __shfl_xor_sync(0xffffffffu, s, o));
        if (lane == 0) out[blockIdx.x] = m + __logf(s);
    }
}

extern "C" void lse(const void* x, void* out, int rows, int cols, void* stream) {
    logsumexp_rows<<<rows, THREADS, 0, (cudaStream_t)stream>>>((const float4*)x, (float*)out, cols / 4);
}
"""

ROWS, VOCAB = 16384, 65536


def setup():
    return {
        "lib": cubuild.load(SRC, "lse"),
        "x": torch.randn(ROWS, VOCAB, device="cuda"),
        "out": torch.empty(ROWS, device="cuda"),
    }


def step(s):
    s["lib"].lse(cubuild.p(s["x"]), cubuild.p(s["out"]), ROWS, VOCAB, cubuild.stream())
    s["z"] = s["out"].mean()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
