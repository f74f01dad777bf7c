"""Ungapped similarity of one protein query against a sequence database."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

#define LEN 512

__constant__ int score[24 * 24];
__constant__ unsigned char query[LEN];

__global__ void __launch_bounds__(256) align(const unsigned char* __restrict__ db, int* __restrict__ best, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int run = 0, top = 0;
    #pragma unroll 8
    for (int p = 0; p < LEN; ++p) {
        int residue = db[(size_t)p * n + i];
        run = max(run + score[query[p] * 24 + residue], 0);
        top = max(top, run);
    }
    best[i] = top;
}

extern "C" int prepare(const int* table, const unsigned char* q) {
    cudaError_t e = cudaMemcpyToSymbol(score, table, sizeof(score));
    if (e == cudaSuccess) e = cudaMemcpyToSymbol(query, q, sizeof(query));
    return (int)e;
}

extern "C" void search(const void* db, void* best, int n, void* stream) {
    align<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const unsigned char*)db, (int*)best, n);
}
"""

N, LEN = 2_000_000, 512


def setup():
    lib = cubuild.load(SRC, "align")
    table = torch.randint(-4, 6, (24 * 24,), dtype=torch.int32)
    query = torch.randint(0, 20, (LEN,), dtype=torch.uint8)
    assert lib.prepare(cubuild.p(table), cubuild.p(query)) == 0
    return {
        "lib": lib,
        "db": torch.randint(0, 20, (LEN, N), dtype=torch.uint8, device="cuda"),
        "best": torch.empty(N, dtype=torch.int32, device="cuda"),
    }


def step(s):
    s["lib"].search(cubuild.p(s["db"]), cubuild.p(s["best"]), N, cubuild.stream())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=5, warmup=2)
