// p3: below WMMA. ldmatrix takes an address per row and mma.sync says which thread holds what: the sums go straight from
// registers to C, two elements at a time, without the detour through shared memory. And only with an address for each row can
// the next step do away with the padding: WMMA insists on a constant distance between rows.
#include "common.cuh"

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 32, THREADS = 256;
constexpr int CHUNKS_A = TILE_M * TILE_K / 8 / THREADS, CHUNKS_B = TILE_K * TILE_N / 8 / THREADS; // of 16 bytes, a thread
constexpr int PITCH_A = TILE_K + 8, PITCH_B = TILE_N + 8;
constexpr int WARP_M = 64, WARP_N = 32, ROWS = WARP_M / 16, COLUMNS = WARP_N / 8;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p3_ldmatrix(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(16) element tile_a[TILE_M * PITCH_A];
  __shared__ __align__(16) element tile_b[TILE_K * PITCH_B];
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * WARP_M, warp_column = warp % 4 * WARP_N;

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
      *reinterpret_cast<uint4*>(tile_a + index / (TILE_K / 8) * PITCH_A + index % (TILE_K / 8) * 8) = chunks_a[i];
    }
#pragma unroll
    for (int i = 0; i < CHUNKS_B; ++i) {
      const int index = i * THREADS + threadIdx.x;
      *reinterpret_cast<uint4*>(tile_b + index / (TILE_N / 8) * PITCH_B + index % (TILE_N / 8) * 8) = chunks_b[i];
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
        load_matrices(fragment_a[i],
                      shared_address(tile_a + (warp_row + 16 * i + lane % 16) * PITCH_A + kk + lane / 16 * 8));
#pragma unroll
      for (int j = 0; j < COLUMNS / 2; ++j)
        load_matrices_transposed(fragment_b[j], shared_address(tile_b + (kk + lane % 16) * PITCH_B + warp_column + 16 * j +
                                                               lane / 16 * 8));
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
