// h1: a 128 x 128 tile. The loads of a step grow with the tile's edge, the products with its area: twice the FLOP for a
// byte that crosses L2 and shared memory, and a wgmma of n = 128 reads its 64 rows of A once for twice the columns.
// Still one warpgroup (two wgmmas of 64 rows, 128 accumulators a thread) and one buffer; protocol as in h0.
#include "hopper.cuh"

constexpr int TILE_M = 128, TILE_N = 128, THREADS = 128;
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2;
constexpr int SHARED_BYTES = A_BYTES + B_BYTES + 8;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS)
    h1_larger_tile(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m,
                   int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t a = shared_address(memory), b = a + A_BYTES, full = b + B_BYTES;
  const int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;

  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
  }
  __syncthreads();

  float sums[2][TILE_N / 2];
  const int steps = ceil_div(k, TILE_K);
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      barrier_expect(full, A_BYTES + B_BYTES);
      tma_load(a, &map_a, full, step * TILE_K, row);
#pragma unroll
      for (int i = 0; i < TILE_N / 64; ++i) // a box is at most one swizzle span, 64 columns, wide
        tma_load(b + i * BOX_BYTES, &map_b, full, column + i * 64, step * TILE_K);
    }
    barrier_wait(full, step & 1);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K / 16; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        wgmma(sums[half], descriptor_a(a + half * 64 * 128, i), descriptor_b(b, i), step + i > 0);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    accumulators_ready(sums[half]);
    store_direct(sums[half], c, row + half * 64, column, m, n);
  }
}
