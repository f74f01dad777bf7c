// Tiles of A and B from global to shared memory by cp.async, 16 bytes a thread and instruction. From one step to the next every
// address moves by a constant, and from one of a thread's chunks to the next, too (the swizzles repeat after 8 rows): so a
// thread computes one address of A, one of B, one of each in the stage, and increments them. Recomputing them would take more
// instructions than the products.
#pragma once
#include "common.cuh"

template <int TILE_M, int TILE_N, int TILE_K, int THREADS> class Copies {
  static constexpr int A_BYTES = TILE_M * TILE_K * 2;
  static constexpr int CHUNKS_A = TILE_K / 8, ROWS_A = THREADS / CHUNKS_A; // of 16 bytes in a row; rows that all threads copy at once
  static constexpr int CHUNKS_B = TILE_N / 8, ROWS_B = THREADS / CHUNKS_B;
  static_assert(TILE_K == 64 && TILE_N == 128, "swizzle_128 is for A's rows, swizzle_256 for B's");
  static_assert(ROWS_A % 8 == 0 && ROWS_B % 8 == 0, "the swizzles have to be the same for all of a thread's rows");

  const element *a_, *b_;    // the thread's first chunk of the next step
  uint32_t to_a_, to_b_;     // its place in a stage
  int rows_, columns_;       // rows of A below the first chunk, columns of B right of it; no columns: outside
  int left_a_, left_b_;      // of K, from the first chunk

public:
  __device__ __forceinline__ Copies(const element* a, const element* b, int row0, int column0, int m, int n, int k) {
    const int y_a = threadIdx.x / CHUNKS_A, x_a = threadIdx.x % CHUNKS_A, y_b = threadIdx.x / CHUNKS_B, x_b = threadIdx.x % CHUNKS_B;
    a_ = a + static_cast<size_t>(row0 + y_a) * k + x_a * 8;
    b_ = b + static_cast<size_t>(y_b) * n + column0 + x_b * 8;
    to_a_ = swizzle_128(y_a, x_a), to_b_ = A_BYTES + swizzle_256(y_b, x_b);
    rows_ = m - row0 - y_a, columns_ = n - column0 - x_b * 8;
    left_a_ = k - x_a * 8, left_b_ = k - y_b;
  }
  // Start the copies of the next step. What lies outside becomes zero; its address is not read.
  __device__ __forceinline__ void start(uint32_t stage, int n, int k) {
#pragma unroll
    for (int i = 0; i < TILE_M / ROWS_A; ++i)
      copy_async(stage + to_a_ + i * ROWS_A * TILE_K * 2, a_ + static_cast<size_t>(i * ROWS_A) * k, i * ROWS_A < rows_ && left_a_ > 0);
#pragma unroll
    for (int i = 0; i < TILE_K / ROWS_B; ++i)
      copy_async(stage + to_b_ + i * ROWS_B * TILE_N * 2, b_ + static_cast<size_t>(i * ROWS_B) * n, columns_ > 0 && i * ROWS_B < left_b_);
    a_ += TILE_K, b_ += static_cast<size_t>(TILE_K) * n;
    left_a_ -= TILE_K, left_b_ -= TILE_K;
  }
};
