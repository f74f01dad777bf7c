// p2: padded rows. A row of A's tile is 64 bytes, one of B's 256: the 8 rows that a fragment's load touches together begin in
// two banks, or in one: a 4-way or 8-way bank conflict. 16 bytes more per row move each row to other banks. It costs 3 KB here, and
// with several stages it would cost as much again for each.
#include <mma.h>

#include "common.cuh"

namespace wmma = nvcuda::wmma;
using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, element, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, element, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 32, THREADS = 256;
constexpr int CHUNKS_A = TILE_M * TILE_K / 8 / THREADS, CHUNKS_B = TILE_K * TILE_N / 8 / THREADS; // of 16 bytes, a thread
constexpr int PITCH_A = TILE_K + 8, PITCH_B = TILE_N + 8;
constexpr int WARP_M = 64, WARP_N = 32, ROWS = WARP_M / 16, COLUMNS = WARP_N / 16;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    p2_padding(const element* __restrict__ a, const element* __restrict__ b, element* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(32) element tile_a[TILE_M * PITCH_A];
  __shared__ __align__(32) element tile_b[TILE_K * PITCH_B];
  __shared__ __align__(32) float outbox[THREADS / 32][16 * 16];
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * WARP_M, warp_column = warp % 4 * WARP_N;

  Sums sums[ROWS][COLUMNS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) wmma::fill_fragment(sums[i][j], 0.0f);

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
      FragmentA fragment_a[ROWS];
      FragmentB fragment_b[COLUMNS];
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
        wmma::load_matrix_sync(fragment_a[i], tile_a + (warp_row + 16 * i) * PITCH_A + kk, PITCH_A);
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j)
        wmma::load_matrix_sync(fragment_b[j], tile_b + kk * PITCH_B + warp_column + 16 * j, PITCH_B);
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
      const float* v = outbox[warp] + lane * 8; // half a row
      const int y = row0 + warp_row + 16 * i + lane / 2, x = column0 + warp_column + 16 * j + lane % 2 * 8;
      if (y < m && x < n)
        *reinterpret_cast<uint4*>(c + static_cast<size_t>(y) * n + x) =
            uint4{pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7])};
      __syncwarp();
    }
}
