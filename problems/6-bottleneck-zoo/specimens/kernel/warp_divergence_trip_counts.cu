// v = factor * v + added, 16 or 512 times, for 1024 items a block.
constexpr int THREADS = 256, ITEMS = 1024, SHORT = 16;

__device__ float iterated(float v, int steps, float factor, float added) {
#pragma unroll 1
  for (int step = 0; step < steps; step += SHORT)
#pragma unroll
    for (int i = 0; i < SHORT; ++i) v = fmaf(factor, v, added);
  return v;
}

extern "C" __global__ void iterate(const float* values, const int* steps, float* result,
                                   float factor, float added) {
  int first = blockIdx.x * ITEMS;
#ifdef SICK
  for (int i = threadIdx.x; i < ITEMS; i += THREADS)
    result[first + i] = iterated(values[first + i], steps[first + i], factor, added);
#else
  __shared__ float value[ITEMS];
  __shared__ int order[ITEMS], length[ITEMS];
  __shared__ int short_items, long_items;
  if (threadIdx.x == 0) short_items = long_items = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < ITEMS; i += THREADS) {
    value[i] = values[first + i];
    length[i] = steps[first + i];
    int at = length[i] == SHORT ? atomicAdd(&short_items, 1) : ITEMS - 1 - atomicAdd(&long_items, 1);
    order[at] = i;
  }
  __syncthreads();
  for (int at = threadIdx.x; at < ITEMS; at += THREADS) {
    int i = order[at];
    value[i] = iterated(value[i], length[i], factor, added);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ITEMS; i += THREADS) result[first + i] = value[i];
#endif
}
