// A block of 128 threads computes running sums of 128 rows of 32 words.
constexpr int ROWS = 128, COLUMNS = 32;

__device__ int place(int row, int column) {
#ifdef SICK
  return row * COLUMNS + column;
#else
  return row * COLUMNS + (column ^ (row % COLUMNS));
#endif
}

extern "C" __global__ void row_scan(const float* rows, float* result) {
  __shared__ float staged[ROWS * COLUMNS];
  size_t first = (size_t)blockIdx.x * ROWS * COLUMNS;
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += ROWS)
    staged[place(i / COLUMNS, i % COLUMNS)] = rows[first + i];
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (int column = 0; column < COLUMNS; ++column) {
    sum += staged[place(threadIdx.x, column)];
    staged[place(threadIdx.x, column)] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += ROWS)
    result[first + i] = staged[place(i / COLUMNS, i % COLUMNS)];
}
