"""Radar pulse compression: host buffers streamed through a matched filter."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define TAPS 384
#define LANES 4

__constant__ float chirp[TAPS];

static cudaStream_t lanes[LANES];
static unsigned* progress;

__global__ void matched(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + TAPS > n) return;
    float a = 0.0f, b = 0.0f;
    #pragma unroll 16
    for (int k = 0; k < TAPS; k += 2) {
        a = fmaf(chirp[k], in[i + k], a);
        b = fmaf(chirp[k + 1], in[i + k + 1], b);
    }
    out[i] = a + b;
}

__global__ void mark(unsigned* p, unsigned v) { *p = v; }

extern "C" int begin(const float* taps) {
    for (int k = 0; k < LANES; ++k) cudaStreamCreate(&lanes[k]);
    cudaMalloc(&progress, sizeof(unsigned));
    return (int)cudaMemcpyToSymbol(chirp, taps, sizeof(float) * TAPS);
}

extern "C" int compress(const float* host_in, float* host_out, float* dev_in, float* dev_out, int chunks, int n) {
    for (int c = 0; c < chunks; ++c) {
        int k = c % LANES;
        size_t off = (size_t)c * n, slot = (size_t)k * n;
        cudaMemcpyAsync(dev_in + slot, host_in + off, n * sizeof(float), cudaMemcpyHostToDevice, lanes[k]);
        matched<<<(n + 255) / 256, 256, 0, lanes[k]>>>(dev_in + slot, dev_out + slot, n);
        cudaMemcpyAsync(host_out + off, dev_out + slot, n * sizeof(float), cudaMemcpyDeviceToHost, lanes[k]);
        mark<<<1, 1>>>(progress, (unsigned)c);
    }
    return (int)cudaDeviceSynchronize();
}
"""

CHUNKS, N = 16, 4 * 1024 * 1024


def setup():
    lib = cubuild.load(SRC, "pulse")
    taps = torch.hann_window(384).contiguous()
    assert lib.begin(cubuild.p(taps)) == 0
    return {
        "lib": lib,
        "taps": taps,
        "hin": torch.rand(CHUNKS, N).pin_memory(),
        "hout": torch.zeros(CHUNKS, N).pin_memory(),
        "din": torch.zeros(4, N, device="cuda"),
        "dout": torch.zeros(4, N, device="cuda"),
    }


def step(s):
    rc = s["lib"].compress(*(cubuild.p(s[k]) for k in ("hin", "hout", "din", "dout")), CHUNKS, N)
    assert rc == 0, rc


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
