// p8: the order of tiles (threadblock swizzle). Blocks start in the order of their index. Row by row, those that run together
// share a few rows of A and touch every column of B, again for every row of tiles; once B exceeds L2 that is DRAM traffic.
// In groups of GROUP rows, column by column (grouped_tile in layout.cuh), they cover a near square.
//
// This is the wall of the portable ladder on Hopper: mma.sync takes its operands from registers, and at full speed it uses about
// two thirds of the tensor cores (Luo et al., arXiv 2402.13499). The next step, h0, uses another instruction.
#include "copies.cuh"

#ifndef STAGES
#define STAGES 3
#endif
#ifndef GROUP
#define GROUP 16
#endif
constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 64, THREADS = 128;
constexpr int WARP_M = 64, WARP_N = 64, ROWS = WARP_M / 16, COLUMNS = WARP_N / 8;
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
static_assert(TILE_K % 32 == 0, "two halves: each step begins with the first");
constexpr int SHARED_BYTES = STAGES * STAGE_BYTES;
static_assert(STAGES >= 2 && SHARED_BYTES <= 166912, "the ring must fit in shared memory (163 KB on sm_80)");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

struct Fragments {
  uint32_t a[ROWS][4], b[COLUMNS / 2][4];
};
__device__ __forceinline__ void load_fragments(Fragments& to, uint32_t stage, int kk, int warp_row, int warp_column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
    load_matrices(to.a[i], stage + swizzle_128(warp_row + 16 * i + lane % 16, kk / 8 + lane / 16));
#pragma unroll
  for (int j = 0; j < COLUMNS / 2; ++j)
    load_matrices_transposed(to.b[j], stage + A_BYTES + swizzle_256(kk + lane % 16, warp_column / 8 + 2 * j + lane / 16));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p8_block_swizzle(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const Tile tile = grouped_tile(blockIdx.y * gridDim.x + blockIdx.x, gridDim.y, gridDim.x, GROUP);
  const int row0 = tile.row * TILE_M, column0 = tile.column * TILE_N;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * WARP_M, warp_column = warp % 2 * WARP_N;
  const int steps = ceil_div(k, TILE_K);

  Copies<TILE_M, TILE_N, TILE_K, THREADS> copies(a, b, row0, column0, m, n, k);
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) copies.start(ring + step * STAGE_BYTES, n, k);
    copy_commit();
  }

  float sums[ROWS][COLUMNS][4] = {};
  Fragments fragments[2];
  copy_wait<STAGES - 2>();
  __syncthreads();
  load_fragments(fragments[0], ring, 0, warp_row, warp_column);

  int stage = 0, filled = STAGES - 1;
  for (int step = 0; step < steps; ++step) {
    const int next = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
    for (int kk = 0; kk < TILE_K; kk += 16) {
      const int now = kk / 16 % 2;
      if (kk + 16 < TILE_K) {
        load_fragments(fragments[now ^ 1], ring + stage * STAGE_BYTES, kk + 16, warp_row, warp_column);
        if (kk == 0) {
          if (step + STAGES - 1 < steps) copies.start(ring + filled * STAGE_BYTES, n, k);
          copy_commit();
        }
      } else {
        copy_wait<STAGES - 2>();
        __syncthreads();
        load_fragments(fragments[now ^ 1], ring + next * STAGE_BYTES, 0, warp_row, warp_column);
      }
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          multiply(sums[i][j], fragments[now].a[i], fragments[now].b[j / 2][j % 2 * 2],
                   fragments[now].b[j / 2][j % 2 * 2 + 1]);
    }
    stage = next;
    if (++filled == STAGES) filled = 0;
  }

#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
      store_pair(sums[i][j], c, row0 + warp_row + 16 * i, column0 + warp_column + 8 * j, m, n);
}
