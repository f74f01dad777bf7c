"""Power iteration on a web-like link matrix in CSR form."""
import torch

import cubuild

SRC = r"""
#include <cuda_runtime.h>

__global__ void spmv_rows(const int* __restrict__ ptr, const int* __restrict__ col, const float* __restrict__ val,
                          const float* __restrict__ x, float* __restrict__ y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = ptr[row] + lane; j < ptr[row + 1]; j += 32)
        sum += val[j] * x[col[j]];
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) y[row] = sum;
}

extern "C" void spmv(const void* ptr, const void* col, const void* val, const void* x, void* y, int rows, void* stream) {
    spmv_rows<<<(rows * 32 + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
        (const int*)ptr, (const int*)col, (const float*)val, (const float*)x, (float*)y, rows);
}
"""

ROWS = 400_000


def setup():
    dev = "cuda"
    deg = torch.randint(8, 56, (ROWS,), device=dev)
    deg[torch.tensor([17, 90_001, 211_333, 350_777], device=dev)] = 700_000
    ptr = torch.zeros(ROWS + 1, dtype=torch.int64, device=dev)
    ptr[1:] = deg.cumsum(0)
    nnz = int(ptr[-1])
    return {
        "lib": cubuild.load(SRC, "spmv"),
        "ptr": ptr.to(torch.int32),
        "col": torch.randint(0, ROWS, (nnz,), device=dev, dtype=torch.int32),
        "val": torch.rand(nnz, device=dev),
        "x": torch.rand(ROWS, device=dev),
        "y": torch.zeros(ROWS, device=dev),
    }


def step(s):
    s["lib"].spmv(
        *(cubuild.p(s[k]) for k in ("ptr", "col", "val", "x", "y")), ROWS, cubuild.stream()
    )
    torch.div(s["y"], s["y"].norm(), out=s["x"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
