// A block stages a tile and four words at either end, then weighs each word's neighbours.
constexpr int RADIUS = 4;
#ifdef SICK
constexpr int TILE = 24576;
#else
constexpr int TILE = 2048;
#endif

extern "C" __global__ void __launch_bounds__(256) stencil(const float* words, float* result) {
  extern __shared__ float staged[];
  words += (size_t)blockIdx.x * TILE;
  result += (size_t)blockIdx.x * TILE;
  for (int i = threadIdx.x; i < TILE + 2 * RADIUS; i += blockDim.x) staged[i] = words[i];
  __syncthreads();
  for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
    float sum = 0;
#pragma unroll
    for (int shift = 0; shift <= 2 * RADIUS; ++shift) {
      int distance = shift < RADIUS ? RADIUS - shift : shift - RADIUS;
      sum += staged[i + shift] * (1.0f / (1 + distance));
    }
    result[i] = sum;
  }
}
