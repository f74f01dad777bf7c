// What stream_k, split_k and ping_pong share: where a block's tile lies, how C is stored without TMA.
#pragma once
#include "boxes.cuh"
#include "cluster.cuh"
#include "pipeline.cuh"

// What the producer gives to the consumers: 56 + 2 * 224 = 3 * 168, and 32 + 3 * 160 = 4 * 128, as many as a thread begins with. A single
// consumer has enough, but only in code behind setmaxnreg does the compiler keep its loop's counters in uniform registers.
constexpr int LOADER_REGISTERS = CONSUMERS <= 2 ? 56 : 32, REGISTERS = CONSUMERS == 1 ? 200 : CONSUMERS == 2 ? 224 : 160;

struct Place {
  int row, column; // of a block's tile, in elements
};
template <int TILE_M> __device__ __forceinline__ Place place(int tile, int m, int n, uint32_t rank) {
  const Tile t = grouped_tile(tile, ceil_div(m, TILE_M * CLUSTER_M), ceil_div(n, TILE_N * CLUSTER_N), GROUP);
  const int below = rank % CLUSTER_M, beside = rank / CLUSTER_M;
  return Place{(t.row * CLUSTER_M + below) * TILE_M, (t.column * CLUSTER_N + beside) * TILE_N};
}
// Waits until the barriers of all blocks of the cluster are set, which `barrier_init_fence` made visible. Nothing else has to be, and
// a release as in cluster_sync would wait for all earlier accesses.
__device__ __forceinline__ void cluster_start() {
  cluster_arrive();
  cluster_wait();
}
// The sums of 64 rows by WIDE columns, from accumulator `first` on, into a box of rows of WIDE elements.
template <int WIDE, int COUNT> __device__ __forceinline__ void store_plain(const float (&d)[COUNT], int first, uint32_t box) {
#pragma unroll
  for (int j = 0; j < WIDE / 8; ++j) {
    const float* v = d + first + 4 * j;
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(box + plain_offset<WIDE>(threadIdx.x % 128, j)),
                 "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3]))
                 : "memory");
  }
}
// The same transposed: WIDE rows of 64 elements, in the 128-byte swizzle.
template <int WIDE, int COUNT> __device__ __forceinline__ void store_transposed(const float (&d)[COUNT], int first, uint32_t box) {
#pragma unroll
  for (int j = 0; j < WIDE / 8; ++j) {
    const float* v = d + first + 4 * j;
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(box + transposed_offset(threadIdx.x % 128, j)),
                 "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3]))
                 : "memory");
  }
}
// As store_box, 32 columns.
template <int COUNT> __device__ __forceinline__ void store_half_box(const float (&d)[COUNT], int first, uint32_t box) {
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    const float* v = d + first + 4 * j;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(box + store_offset(threadIdx.x % 128, j)),
                 "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3])), "r"(pack(v[4], v[5])), "r"(pack(v[6], v[7]))
                 : "memory");
  }
}
// Columns of C from a box, HALVES times 32, where TMA cannot store them: a warp stores 32 consecutive elements.
template <int HALVES>
__device__ __forceinline__ void copy_box(uint32_t box, element* c, int row, int column, int m, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const int y = warp * 16 + i;
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
      const int x = half * 32 + lane;
      uint16_t bits;
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(box + swizzle_128(y, x / 8) + x % 8 * 2) : "memory");
      if (row + y < m && column + x < n)
        reinterpret_cast<uint16_t*>(c)[static_cast<size_t>(row + y) * n + column + x] = bits;
    }
  }
}
