// Counts keys below 64; the result starts at zero.
extern "C" __global__ void histogram(const int* keys, int* result, int count) {
  int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
#ifdef SICK
  for (int i = first; i < count; i += stride) atomicAdd(&result[keys[i]], 1);
#else
  constexpr int KEYS = 64;
  __shared__ int counts[KEYS];
  if (threadIdx.x < KEYS) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = first; i < count; i += stride) atomicAdd(&counts[keys[i]], 1);
  __syncthreads();
  if (threadIdx.x < KEYS) atomicAdd(&result[threadIdx.x], counts[threadIdx.x]);
#endif
}
