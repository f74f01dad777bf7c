// v = factor * v + added, 16 or 512 times, for 1024 items a block.
constexpr int THREADS = 256, ITEMS = 1024, SHORT = 16;

__device__ float iterated(float v, int steps, float factor, float added) {
#pragma unroll 1
  for (int step = 0; step < steps; step += SHORT)
#pragma unroll
    for (int i = 0; i < SHORT; ++i) v = fmaf(factor, v, added);
  return v;
}

#ifdef HEALTHY
// Returns a place of its own for each item, short ones from the front; one atomic a warp and kind.
__device__ int place(bool is_short, int* short_items, int* long_items) {
  int lane = threadIdx.x % 32;
  unsigned shorts = __ballot_sync(0xffffffff, is_short);
  int count = __popc(shorts), before = __popc(shorts & ((1u << lane) - 1));
  int first_short = 0, first_long = 0;
  if (lane == 0) {
    first_short = atomicAdd(short_items, count);
    first_long = atomicAdd(long_items, 32 - count);
  }
  first_short = __shfl_sync(0xffffffff, first_short, 0);
  first_long = __shfl_sync(0xffffffff, first_long, 0);
  return is_short ? first_short + before : ITEMS - 1 - first_long - (lane - before);
}
#endif

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
    order[place(length[i] == SHORT, &short_items, &long_items)] = i;
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
