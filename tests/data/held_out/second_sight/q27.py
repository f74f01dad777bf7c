"""Nearest neighbours of every point in a lidar sweep."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define TILE 128
#define MAXK 32

__global__ void __launch_bounds__(TILE) nearest(const float4* __restrict__ query, const float4* __restrict__ ref,
                                                int* __restrict__ out, int m, int k) {
    __shared__ float4 sh[TILE];
    float dist[MAXK];
    int id[MAXK];
    for (int j = 0; j < k; ++j) { dist[j] = 3e38f; id[j] = -1; }
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 q = query[i];
    for (int t = 0; t < m; t += TILE) {
        sh[threadIdx.x] = ref[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < TILE; ++j) {
            float dx = q.x - sh[j].x, dy = q.y - sh[j].y, dz = q.z - sh[j].z;
            float d = dx * dx + dy * dy + dz * dz;
            if (d < dist[k - 1]) {
                int p = k - 1;
                while (p > 0 && dist[p - 1] > d) {
                    dist[p] = dist[p - 1];
                    id[p] = id[p - 1];
                    --p;
                }
                dist[p] = d;
                id[p] = t + j;
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < k; ++j) out[(size_t)i * k + j] = id[j];
}

extern "C" void knn(const void* q, const void* r, void* out, int n, int m, int k, void* stream) {
    nearest<<<n / TILE, TILE, 0, (cudaStream_t)stream>>>((const float4*)q, (const float4*)r, (int*)out, m, k);
}
"""

N, M, K = 132 * 8 * 128, 8192, 24


def setup():
    cloud = torch.randn(N, 4, device="cuda")
    return {
        "lib": cubuild.load(SRC, "nearest"),
        "q": cloud,
        "r": cloud[torch.randperm(N, device="cuda")[:M]].contiguous(),
        "out": torch.empty(N, K, dtype=torch.int32, device="cuda"),
    }


def step(s):
    s["lib"].knn(cubuild.p(s["q"]), cubuild.p(s["r"]), cubuild.p(s["out"]), N, M, K, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
