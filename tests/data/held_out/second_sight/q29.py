"""Key stretching: derive working keys from a list of passphrases."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__device__ __forceinline__ unsigned rot(unsigned v, int n) { return __funnelshift_l(v, v, n); }

#define QR(a, b, c, d) \
    a += b; d = rot(d ^ a, 16); \
    c += d; b = rot(b ^ c, 12); \
    a += b; d = rot(d ^ a, 8);  \
    c += d; b = rot(b ^ c, 7);

__global__ void __launch_bounds__(128) stretch(const uint4* __restrict__ in, uint4* __restrict__ out, int rounds) {
    const size_t i = (size_t)blockIdx.x * 128 + threadIdx.x;
    uint4 k0 = in[2 * i], k1 = in[2 * i + 1];
    unsigned x[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, k0.x, k0.y, k0.z, k0.w,
                      k1.x, k1.y, k1.z, k1.w, 0u, 1u, 2u, 3u};
    for (int r = 0; r < rounds; ++r) {
        QR(x[0], x[4], x[8], x[12])
        QR(x[1], x[5], x[9], x[13])
        QR(x[2], x[6], x[10], x[14])
        QR(x[3], x[7], x[11], x[15])
        QR(x[0], x[5], x[10], x[15])
        QR(x[1], x[6], x[11], x[12])
        QR(x[2], x[7], x[8], x[13])
        QR(x[3], x[4], x[9], x[14])
    }
    out[2 * i] = make_uint4(x[4] + k0.x, x[5] + k0.y, x[6] + k0.z, x[7] + k0.w);
    out[2 * i + 1] = make_uint4(x[8] + k1.x, x[9] + k1.y, x[10] + k1.z, x[11] + k1.w);
}

extern "C" void derive(const void* in, void* out, int n, int rounds, void* stream) {
    stretch<<<n / 128, 128, 0, (cudaStream_t)stream>>>((const uint4*)in, (uint4*)out, rounds);
}
"""

N, ROUNDS = 132 * 16 * 128 * 8, 640


def setup():
    keys = torch.randint(-(2**31), 2**31 - 1, (N, 8), device="cuda", dtype=torch.int32)
    return {"lib": cubuild.load(SRC, "stretch"), "keys": keys, "out": torch.empty_like(keys)}


def step(s):
    s["lib"].derive(cubuild.p(s["keys"]), cubuild.p(s["out"]), N, ROUNDS, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
