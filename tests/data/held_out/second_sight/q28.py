"""Relax a heat map to steady state inside one launch."""
import torch

import cubuild

SRC = r"""
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define SIDE 512

__global__ void __launch_bounds__(256) relax(float* a, float* b, int sweeps) {
    cg::grid_group grid = cg::this_grid();
    const int stride = gridDim.x * blockDim.x;
    for (int s = 0; s < sweeps; ++s) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < SIDE * SIDE; i += stride) {
            int x = i % SIDE, y = i / SIDE;
            if (x > 0 && x < SIDE - 1 && y > 0 && y < SIDE - 1)
                b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - SIDE] + a[i + SIDE]);
        }
        grid.sync();
        float* t = a; a = b; b = t;
    }
}

extern "C" int steady(void* a, void* b, int sweeps, void* stream) {
    int per = 0, sms = 0, dev = 0;
    cudaGetDevice(&dev);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, relax, 256, 0);
    void* args[] = {&a, &b, &sweeps};
    return (int)cudaLaunchCooperativeKernel((const void*)relax, dim3(per * sms), dim3(256), args, 0, (cudaStream_t)stream);
}
"""


def setup():
    a = torch.zeros(512, 512, device="cuda")
    a[0] = 1.0
    return {"lib": cubuild.load(SRC, "steady"), "a": a, "b": a.clone()}


def step(s):
    rc = s["lib"].steady(cubuild.p(s["a"]), cubuild.p(s["b"]), 2000, cubuild.stream())
    assert rc == 0, rc


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
