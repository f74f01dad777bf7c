// Copies a matrix of at most 64 columns transposed, to rows that begin at multiples of 128 bytes. Few columns in rows of k are what TMA
// reads worst: a box of 64 by 64 holds 16 bytes of each row, where the matrix has 8 columns. A block moves 64 rows.
#include "hopper.cuh"

constexpr int THREADS = 256, SIDE = 64, ROWS_AT_ONCE = THREADS / SIDE;
LAUNCHED_WITH(SIDE, SIDE, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose(const element* from, element* to, int64_t pitch_from, int64_t pitch_to, int rows, int columns) {
  __shared__ element tile[SIDE][SIDE + 2]; // 33 words a row: a column's elements lie in different banks
  const int begin = blockIdx.x * SIDE, x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
  let_next_start();
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < SIDE; i += ROWS_AT_ONCE)
    if (begin + y + i < rows && x < columns) tile[y + i][x] = from[(begin + y + i) * pitch_from + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < SIDE; i += ROWS_AT_ONCE)
    if (y + i < columns && begin + x < rows) to[(y + i) * pitch_to + begin + x] = tile[x][y + i];
}
