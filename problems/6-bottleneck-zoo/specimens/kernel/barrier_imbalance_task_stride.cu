// A block iterates 256 tasks of 32 words, subtracts the mean of all, and so on for 16 steps.
constexpr int WARPS = 16, TASKS = 256, STEPS = 16, COSTLY = 1024, CHEAP = 32;

extern "C" __global__ void __launch_bounds__(512, 4)
    steps(const float* words, float* result, float factor, float added) {
  __shared__ float value[TASKS][32];
  __shared__ float of_warp[WARPS];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  size_t first = (size_t)blockIdx.x * TASKS * 32;
  for (int i = threadIdx.x; i < TASKS * 32; i += blockDim.x) value[i / 32][i % 32] = words[first + i];
  __syncthreads();
  for (int step = 0; step < STEPS; ++step) {
    float sum = 0;
    for (int i = 0; i < TASKS / WARPS; ++i) {
#ifdef SICK
      int task = i * WARPS + warp;  // warp 0 gets every costly task
#else
      int task = i * WARPS + (warp + i) % WARPS;
#endif
      int cost = task % WARPS == 0 ? COSTLY : CHEAP;
      float v = value[task][lane];
#pragma unroll 1
      for (int done = 0; done < cost; done += 32)
#pragma unroll
        for (int j = 0; j < 32; ++j) v = fmaf(factor, v, added);
      value[task][lane] = v;
      sum += v;
    }
    for (int offset = 16; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    float mean = 0;
    for (int i = 0; i < WARPS; ++i) mean += of_warp[i];
    mean /= TASKS * 32;
    __syncthreads();
    for (int i = threadIdx.x; i < TASKS * 32; i += blockDim.x) value[i / 32][i % 32] -= mean;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < TASKS * 32; i += blockDim.x) result[first + i] = value[i / 32][i % 32];
}
