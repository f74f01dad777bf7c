// Counts keys below 64, four a load; the result starts at zero.
extern "C" __global__ void histogram(const int4* __restrict__ keys, int* result, int fours) {
  int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
#ifdef SICK
  int* counts = result;
#else
  constexpr int KEYS = 64;
  __shared__ int counts[KEYS];
  if (threadIdx.x < KEYS) counts[threadIdx.x] = 0;
  __syncthreads();
#endif
  for (int i = first; i < fours; i += stride) {
    int4 four = keys[i];
    atomicAdd(&counts[four.x], 1);
    atomicAdd(&counts[four.y], 1);
    atomicAdd(&counts[four.z], 1);
    atomicAdd(&counts[four.w], 1);
  }
#ifndef SICK
  __syncthreads();
  if (threadIdx.x < KEYS) atomicAdd(&result[threadIdx.x], counts[threadIdx.x]);
#endif
}
