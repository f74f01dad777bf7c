// p0: tensor cores through WMMA, the portable C++ interface. A block computes 128 x 128 of C, eight warps 64 x 32 each; the
// tiles of A and B are staged in shared memory, 32 of K at a time, so that each element is read from global memory once per
// block and not once per product. Everything else is naive: elements are copied one by one.
#include <mma.h>

#include "common.cuh"

namespace wmma = nvcuda::wmma;
using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, element, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, element, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 32, THREADS = 256;
constexpr int WARP_M = 64, WARP_N = 32, ROWS = WARP_M / 16, COLUMNS = WARP_N / 16;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p0_wmma(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(32) element tile_a[TILE_M * TILE_K];
  __shared__ __align__(32) element tile_b[TILE_K * TILE_N];
  __shared__ __align__(32) float outbox[THREADS / 32][16 * 16];
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * WARP_M, warp_column = warp % 4 * WARP_N;
  const element zero = to_element(0.0f);

  Sums sums[ROWS][COLUMNS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) wmma::fill_fragment(sums[i][j], 0.0f);

  for (int k0 = 0; k0 < k; k0 += TILE_K) {
    for (int i = threadIdx.x; i < TILE_M * TILE_K; i += THREADS) {
      const int y = row0 + i / TILE_K, x = k0 + i % TILE_K;
      tile_a[i] = y < m && x < k ? a[static_cast<size_t>(y) * k + x] : zero;
    }
    for (int i = threadIdx.x; i < TILE_K * TILE_N; i += THREADS) {
      const int y = k0 + i / TILE_N, x = column0 + i % TILE_N;
      tile_b[i] = y < k && x < n ? b[static_cast<size_t>(y) * n + x] : zero;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < TILE_K; kk += 16) {
      FragmentA fragment_a[ROWS];
      FragmentB fragment_b[COLUMNS];
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
        wmma::load_matrix_sync(fragment_a[i], tile_a + (warp_row + 16 * i) * TILE_K + kk, TILE_K);
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j)
        wmma::load_matrix_sync(fragment_b[j], tile_b + kk * TILE_N + warp_column + 16 * j, TILE_N);
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) wmma::mma_sync(sums[i][j], fragment_a[i], fragment_b[j], sums[i][j]);
    }
    __syncthreads();
  }

  // WMMA does not say which thread holds which sum: they go through shared memory to become elements.
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      wmma::store_matrix_sync(outbox[warp], sums[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      for (int v = lane; v < 16 * 16; v += 32) {
        const int y = row0 + warp_row + 16 * i + v / 16, x = column0 + warp_column + 16 * j + v % 16;
        if (y < m && x < n) c[static_cast<size_t>(y) * n + x] = to_element(outbox[warp][v]);
      }
      __syncwarp();
    }
}
