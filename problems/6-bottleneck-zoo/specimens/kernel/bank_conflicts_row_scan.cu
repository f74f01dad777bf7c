// A block of 128 threads computes running sums of 128 rows of 32 words.
constexpr unsigned ROWS = 128, COLUMNS = 32;

__device__ unsigned place(unsigned row, unsigned column) {
#ifdef SICK
  return row * COLUMNS + column;
#else
  return row * COLUMNS + (column ^ (row % COLUMNS));
#endif
}

extern "C" __global__ void __launch_bounds__(ROWS) row_scan(const float* rows, float* result) {
  __shared__ float staged[ROWS * COLUMNS];
  unsigned thread = threadIdx.x;
  rows += (size_t)blockIdx.x * ROWS * COLUMNS;
  result += (size_t)blockIdx.x * ROWS * COLUMNS;
#pragma unroll
  for (unsigned part = 0; part < COLUMNS; ++part) {  // unrolled: 32 loads in flight
    unsigned i = part * ROWS + thread;
    staged[place(i / COLUMNS, i % COLUMNS)] = rows[i];
  }
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (unsigned column = 0; column < COLUMNS; ++column) {
    sum += staged[place(thread, column)];
    staged[place(thread, column)] = sum;
  }
  __syncthreads();
#pragma unroll
  for (unsigned part = 0; part < COLUMNS; ++part) {
    unsigned i = part * ROWS + thread;
    result[i] = staged[place(i / COLUMNS, i % COLUMNS)];
  }
}
