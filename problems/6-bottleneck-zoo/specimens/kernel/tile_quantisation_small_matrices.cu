// A block computes one tile of one product of 72 x 72 matrices; each thread 4 x 4 elements of it.
constexpr int SIDE = 72, STEP = 8;
#ifdef SICK
constexpr int TILE = 64;
#else
constexpr int TILE = 72;
#endif
constexpr int THREADS = (TILE / 4) * (TILE / 4), PITCH = TILE + 4;

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    multiply(const float* left, const float* right, float* result) {
  __shared__ __align__(16) float a[STEP][PITCH];  // transposed: a[k][row]
  __shared__ __align__(16) float b[STEP][PITCH];
  int thread = threadIdx.y * (TILE / 4) + threadIdx.x;
  int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  size_t matrix = (size_t)blockIdx.z * SIDE * SIDE;
  float sums[4][4] = {};
  for (int k = 0; k < SIDE; k += STEP) {
    for (int i = thread; i < TILE * STEP; i += THREADS) {
      int row = i / STEP, inner = i % STEP;
      bool inside = first_row + row < SIDE;
      a[inner][row] = inside ? left[matrix + (first_row + row) * SIDE + k + inner] : 0;
    }
    for (int i = thread; i < TILE * STEP; i += THREADS) {
      int inner = i / TILE, column = i % TILE;
      bool inside = first_column + column < SIDE;
      b[inner][column] = inside ? right[matrix + (k + inner) * SIDE + first_column + column] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int inner = 0; inner < STEP; ++inner) {
      float4 rows = *reinterpret_cast<float4*>(&a[inner][threadIdx.y * 4]);
      float4 columns = *reinterpret_cast<float4*>(&b[inner][threadIdx.x * 4]);
      float row[4] = {rows.x, rows.y, rows.z, rows.w};
      float column[4] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += row[i] * column[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int row = first_row + threadIdx.y * 4 + i, column = first_column + threadIdx.x * 4 + j;
      if (row < SIDE && column < SIDE) result[matrix + row * SIDE + column] = sums[i][j];
    }
}
