// For the shapes that no step takes: K or N not a multiple of 8, so that rows do not begin at multiples of 16 bytes and
// neither TMA nor 16-byte loads can read them. The tensor cores still do the products: 64 x 64 tiles, 4 warps of
// 32 x 32, elements moved one at a time and checked one at a time. Correct for every M, N, K >= 1; not fast.
#include "common.cuh"

constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32, THREADS = 128;
constexpr int PITCH_A = TILE_K + 8, PITCH_B = TILE_N + 8; // 16 bytes of padding: ldmatrix without bank conflicts
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS)
    fallback(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(16) element tile_a[TILE_M * PITCH_A];
  __shared__ __align__(16) element tile_b[TILE_K * PITCH_B];
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  const element zero = to_element(0.0f);

  float sums[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += TILE_K) {
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE_M * TILE_K; i += THREADS) {
      const int y = i / TILE_K, x = i % TILE_K;
      const bool inside = row0 + y < m && k0 + x < k;
      tile_a[y * PITCH_A + x] = inside ? a[static_cast<size_t>(row0 + y) * k + k0 + x] : zero;
    }
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE_K * TILE_N; i += THREADS) {
      const int y = i / TILE_N, x = i % TILE_N;
      const bool inside = k0 + y < k && column0 + x < n;
      tile_b[y * PITCH_B + x] = inside ? b[static_cast<size_t>(k0 + y) * n + column0 + x] : zero;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < TILE_K; kk += 16) {
      uint32_t fragment_a[2][4], fragment_b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        load_matrices(fragment_a[i],
                      shared_address(tile_a + (warp_row + 16 * i + lane % 16) * PITCH_A + kk + lane / 16 * 8));
#pragma unroll
      for (int j = 0; j < 2; ++j)
        load_matrices_transposed(fragment_b[j], shared_address(tile_b + (kk + lane % 16) * PITCH_B + warp_column + 16 * j +
                                                               lane / 16 * 8));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          multiply(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2 * 2], fragment_b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int row = row0 + warp_row + 16 * i + lane / 4 + v / 2 * 8;
        const int column = column0 + warp_column + 8 * j + lane % 4 * 2 + v % 2;
        if (row < m && column < n) c[static_cast<size_t>(row) * n + column] = to_element(sums[i][j][v]);
      }
}
