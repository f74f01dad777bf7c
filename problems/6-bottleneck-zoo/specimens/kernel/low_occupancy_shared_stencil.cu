// A block stages a tile and four words at either end, then weighs each word's neighbours.
constexpr int RADIUS = 4, THREADS = 256;
#ifdef SICK
constexpr int TILE = 24576;
#else
constexpr int TILE = 2048;
#endif

extern "C" __global__ void __launch_bounds__(THREADS) stencil(const float* words, float* result) {
  extern __shared__ float staged[];
  words += (size_t)blockIdx.x * TILE;
  result += (size_t)blockIdx.x * TILE;
#pragma unroll 2
  for (int i = threadIdx.x; i < TILE + 2 * RADIUS; i += THREADS) staged[i] = words[i];
  __syncthreads();
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    float sum = 0;
#pragma unroll
    for (int shift = 0; shift <= 2 * RADIUS; ++shift) {
      int distance = shift < RADIUS ? RADIUS - shift : shift - RADIUS;
      sum += staged[i + shift] * (1.0f / (1 + distance));
    }
    result[i] = sum;
  }
}
