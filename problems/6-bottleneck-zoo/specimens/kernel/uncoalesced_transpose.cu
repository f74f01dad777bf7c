// One block transposes a tile of 32 x 32 words with 32 x 8 threads.
constexpr int TILE = 32, ROWS = 8;

extern "C" __global__ void transpose(const float* matrix, float* result, int side) {
  int column = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
#ifdef SICK
  // Neighbouring threads read neighbouring words, and write words that are a row apart.
  for (int i = 0; i < TILE; i += ROWS)
    result[(size_t)column * side + row + i] = matrix[(size_t)(row + i) * side + column];
#else
  __shared__ float tile[TILE][TILE + 1];
  for (int i = 0; i < TILE; i += ROWS)
    tile[threadIdx.y + i][threadIdx.x] = matrix[(size_t)(row + i) * side + column];
  __syncthreads();
  int to_column = blockIdx.y * TILE + threadIdx.x;
  int to_row = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS)
    result[(size_t)(to_row + i) * side + to_column] = tile[threadIdx.x][threadIdx.y + i];
#endif
}
