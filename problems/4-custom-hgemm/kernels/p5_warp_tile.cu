// p5: 64 x 64 for each warp, four warps. What a warp reads from shared memory grows with its tile's edges, what it multiplies
// with the area: 64 x 32 needs 96 rows and columns for 2048 products per k, 64 x 64 needs 128 for 4096. The 128 sums of a
// thread leave room for two blocks on a multiprocessor: fewer warps, more work in each.
#include "common.cuh"

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 32, THREADS = 128;
constexpr int CHUNKS_A = TILE_M * TILE_K / 8 / THREADS, CHUNKS_B = TILE_K * TILE_N / 8 / THREADS; // of 16 bytes, a thread
constexpr int WARP_M = 64, WARP_N = 64, ROWS = WARP_M / 16, COLUMNS = WARP_N / 8;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p5_warp_tile(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(1024) element tile_a[TILE_M * TILE_K];
  __shared__ __align__(1024) element tile_b[TILE_K * TILE_N];
  const uint32_t shared_a = shared_address(tile_a), shared_b = shared_address(tile_b);
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * WARP_M, warp_column = warp % 2 * WARP_N;

  float sums[ROWS][COLUMNS][4] = {};
  for (int k0 = 0; k0 < k; k0 += TILE_K) {
    uint4 chunks_a[CHUNKS_A], chunks_b[CHUNKS_B];
#pragma unroll
    for (int i = 0; i < CHUNKS_A; ++i) {
      const int index = i * THREADS + threadIdx.x, y = row0 + index / (TILE_K / 8), x = k0 + index % (TILE_K / 8) * 8;
      chunks_a[i] = y < m && x < k ? *reinterpret_cast<const uint4*>(a + static_cast<size_t>(y) * k + x) : uint4{};
    }
#pragma unroll
    for (int i = 0; i < CHUNKS_B; ++i) {
      const int index = i * THREADS + threadIdx.x, y = k0 + index / (TILE_N / 8), x = column0 + index % (TILE_N / 8) * 8;
      chunks_b[i] = y < k && x < n ? *reinterpret_cast<const uint4*>(b + static_cast<size_t>(y) * n + x) : uint4{};
    }
#pragma unroll
    for (int i = 0; i < CHUNKS_A; ++i) {
      const int index = i * THREADS + threadIdx.x;
      const int to = swizzle_64(index / (TILE_K / 8), index % (TILE_K / 8));
      *reinterpret_cast<uint4*>(reinterpret_cast<char*>(tile_a) + to) = chunks_a[i];
    }
#pragma unroll
    for (int i = 0; i < CHUNKS_B; ++i) {
      const int index = i * THREADS + threadIdx.x;
      const int to = swizzle_256(index / (TILE_N / 8), index % (TILE_N / 8));
      *reinterpret_cast<uint4*>(reinterpret_cast<char*>(tile_b) + to) = chunks_b[i];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < TILE_K; kk += 16) {
      uint32_t fragment_a[ROWS][4], fragment_b[COLUMNS / 2][4];
      // Lanes 0-15 name the 16 rows of the left 8 columns, lanes 16-31 those of the right 8. For A that gives the four
      // 8 x 8 matrices in the order mma.sync wants them; for B, transposed on the way, the two halves of K of 8 columns
      // of C, then of the next 8.
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
        load_matrices(fragment_a[i], shared_a + swizzle_64(warp_row + 16 * i + lane % 16, kk / 8 + lane / 16));
#pragma unroll
      for (int j = 0; j < COLUMNS / 2; ++j)
        load_matrices_transposed(fragment_b[j],
                                 shared_b + swizzle_256(kk + lane % 16, warp_column / 8 + 2 * j + lane / 16));
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          multiply(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2 * 2], fragment_b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
      store_pair(sums[i][j], c, row0 + warp_row + 16 * i, column0 + warp_column + 8 * j, m, n);
}
