// One block transposes a tile of 32 x 32 words with 32 x 8 threads.
constexpr int TILE = 32, ROWS = 8;
#ifdef SICK
constexpr int PITCH = TILE;  // a column of the tile lies in one bank
#else
constexpr int PITCH = TILE + 1;
#endif

extern "C" __global__ void transpose_by_tiles(const float* matrix, float* result, int height,
                                              int width) {
  __shared__ float tile[TILE][PITCH];
  int column = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS)
    tile[threadIdx.y + i][threadIdx.x] = matrix[(size_t)(row + i) * width + column];
  __syncthreads();
  int to_column = blockIdx.y * TILE + threadIdx.x;
  int to_row = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS)
    result[(size_t)(to_row + i) * height + to_column] = tile[threadIdx.x][threadIdx.y + i];
}
