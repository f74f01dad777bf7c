"""Window partition for a hierarchical vision transformer, through a general permute."""
import ctypes

import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define MAXD 8

struct Layout {
    long long size[MAXD];
    long long stride[MAXD];
};

__global__ void permute_copy(const float* __restrict__ in, float* __restrict__ out, Layout l, long long total) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    long long rest = i, src = 0;
    #pragma unroll
    for (int d = MAXD - 1; d >= 0; --d) {
        src += (rest % l.size[d]) * l.stride[d];
        rest /= l.size[d];
    }
    out[i] = in[src];
}

extern "C" void permute(const void* in, void* out, const long long* size, const long long* stride,
                        long long total, void* stream) {
    Layout l;
    for (int d = 0; d < MAXD; ++d) { l.size[d] = size[d]; l.stride[d] = stride[d]; }
    permute_copy<<<(unsigned)((total + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (const float*)in, (float*)out, l, total);
}
"""

B, SIDE, WIN, HEADS, HD = 64, 64, 8, 12, 32


def permuted(lib, x, order, out):
    size = [x.shape[d] for d in order]
    stride = [x.stride(d) for d in order]
    while len(size) < 8:
        size.insert(0, 1)
        stride.insert(0, 0)
    arr = ctypes.c_longlong * 8
    lib.permute(cubuild.p(x), cubuild.p(out), arr(*size), arr(*stride), ctypes.c_longlong(x.numel()), cubuild.stream())
    return out


def setup():
    x = torch.randn(B, SIDE // WIN, WIN, SIDE // WIN, WIN, HEADS, HD, device="cuda")
    return {"lib": cubuild.load(SRC, "permute"), "x": x, "out": torch.empty(x.numel(), device="cuda")}


def step(s):
    y = permuted(s["lib"], s["x"], (0, 1, 3, 5, 2, 4, 6), s["out"])
    s["probe"] = y.view(-1, WIN * WIN, HD)[:64].mean()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
