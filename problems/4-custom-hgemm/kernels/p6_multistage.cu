// p6: cp.async and a multistage pipeline. Until now the loads of a step wait in registers and every thread waits for them. cp.async
// copies from global to shared memory without registers and without waiting, so the loads for the step STAGES - 1 ahead start
// before this step is multiplied: latency is paid once, not once a step, and the registers are free for the sums. A step is now
// 64 of K: half as many barriers, and rows of 128 bytes.
//
// One barrier a step is enough. After it, the stage of this step has arrived (each thread waited for its own copies, the
// barrier extends that to the block), and all threads have read the previous step's stage, which is filled next.
// A group of copies is committed in every step, empty at the end, so that "all but the newest STAGES - 2" is always the right
// wait.
#include "copies.cuh"

#ifndef STAGES
#define STAGES 3
#endif
constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 64, THREADS = 128;
constexpr int WARP_M = 64, WARP_N = 64, ROWS = WARP_M / 16, COLUMNS = WARP_N / 8;
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int SHARED_BYTES = STAGES * STAGE_BYTES;
static_assert(STAGES >= 2 && SHARED_BYTES <= 166912, "the ring must fit in shared memory (163 KB on sm_80)");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p6_multistage(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * WARP_M, warp_column = warp % 2 * WARP_N;
  const int steps = ceil_div(k, TILE_K);

  Copies<TILE_M, TILE_N, TILE_K, THREADS> copies(a, b, row0, column0, m, n, k);
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) copies.start(ring + step * STAGE_BYTES, n, k);
    copy_commit();
  }

  float sums[ROWS][COLUMNS][4] = {};
  int stage = 0, filled = STAGES - 1; // which stage is read, which is filled
  for (int step = 0; step < steps; ++step) {
    copy_wait<STAGES - 2>();
    __syncthreads();
    if (step + STAGES - 1 < steps) copies.start(ring + filled * STAGE_BYTES, n, k);
    copy_commit();

    const uint32_t tile_a = ring + stage * STAGE_BYTES, tile_b = tile_a + A_BYTES;
#pragma unroll
    for (int kk = 0; kk < TILE_K; kk += 16) {
      uint32_t fragment_a[ROWS][4], fragment_b[COLUMNS / 2][4];
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
        load_matrices(fragment_a[i], tile_a + swizzle_128(warp_row + 16 * i + lane % 16, kk / 8 + lane / 16));
#pragma unroll
      for (int j = 0; j < COLUMNS / 2; ++j)
        load_matrices_transposed(fragment_b[j], tile_b + swizzle_256(kk + lane % 16, warp_column / 8 + 2 * j + lane / 16));
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          multiply(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2 * 2], fragment_b[j / 2][j % 2 * 2 + 1]);
    }
    if (++stage == STAGES) stage = 0;
    if (++filled == STAGES) filled = 0;
  }

#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
      store_pair(sums[i][j], c, row0 + warp_row + 16 * i, column0 + warp_column + 8 * j, m, n);
}
