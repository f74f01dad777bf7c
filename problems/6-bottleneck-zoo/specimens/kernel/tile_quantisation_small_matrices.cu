// y = 1 / sqrt(x) by Newton's method, for matrices of 72 rows of 64 elements: a block computes one
// tile of one matrix, a thread 4 x 4 elements of it.
constexpr int ROWS = 72, COLUMNS = 64, STEPS = 32;
#ifdef SICK
constexpr int TILE_ROWS = 64;
#else
constexpr int TILE_ROWS = 72;
#endif
constexpr int EACH = 4;

__device__ float newton(float x) {
  float half = -0.5f * x, y = 1;
#pragma unroll 8
  for (int step = 0; step < STEPS; ++step) y *= fmaf(half, y * y, 1.5f);
  return y;
}

extern "C" __global__ void __launch_bounds__(TILE_ROWS / EACH * COLUMNS / EACH)
    inverse_roots(const float4* matrices, float4* result) {
  size_t first = (size_t)blockIdx.y * ROWS * COLUMNS / EACH;
  int top = blockIdx.x * TILE_ROWS + threadIdx.y * EACH;
  float4 x[EACH];
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    x[i] = make_float4(1, 1, 1, 1);
    if (top + i < ROWS) x[i] = matrices[first + (top + i) * COLUMNS / EACH + threadIdx.x];
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i)
    x[i] = make_float4(newton(x[i].x), newton(x[i].y), newton(x[i].z), newton(x[i].w));
#pragma unroll
  for (int i = 0; i < EACH; ++i)
    if (top + i < ROWS) result[first + (top + i) * COLUMNS / EACH + threadIdx.x] = x[i];
}
