// A block of 32 x 8 threads computes 128 rows of 32 columns from 192 staged rows.
constexpr int COLUMNS = 32, ROWS = 8, LINES = 128, TAPS = 65;
constexpr int STAGED = LINES + TAPS - 1;

__device__ constexpr float weight(int tap) {
  return 1.0f / (1 + (tap < TAPS / 2 ? TAPS / 2 - tap : tap - TAPS / 2));
}

extern "C" __global__ void __launch_bounds__(256)
    vertical_filter(const float* image, float* result, int width) {
  __shared__ float staged[STAGED][COLUMNS];
  int column = blockIdx.x * COLUMNS + threadIdx.x, first = blockIdx.y * LINES;
#pragma unroll 8
  for (int row = threadIdx.y; row < STAGED; row += ROWS)
    staged[row][threadIdx.x] = image[(size_t)(first + row) * width + column];
  __syncthreads();
#ifdef SICK
#pragma unroll 1
  for (int line = threadIdx.y; line < LINES; line += ROWS) {
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < TAPS; ++tap)
      sum = fmaf(staged[line + tap][threadIdx.x], weight(tap), sum);
    result[(size_t)(first + line) * width + column] = sum;
  }
#else
  constexpr int EACH = LINES / ROWS;
  int line = threadIdx.y * EACH;
  float sums[EACH] = {};
#pragma unroll
  for (int row = 0; row < TAPS + EACH - 1; ++row) {
    float value = staged[line + row][threadIdx.x];
#pragma unroll
    for (int j = 0; j < EACH; ++j)
      if (row - j >= 0 && row - j < TAPS) sums[j] = fmaf(value, weight(row - j), sums[j]);
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) result[(size_t)(first + line + j) * width + column] = sums[j];
#endif
}
