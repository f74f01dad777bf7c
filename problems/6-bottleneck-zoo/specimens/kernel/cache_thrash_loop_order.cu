// A block sums the distances of its words to sixteen queries.
constexpr int THREADS = 256, QUERIES = 16;

__device__ float block_sum(float value) {
  __shared__ float of_warp[THREADS / 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < THREADS / 32; ++warp) sum += of_warp[warp];
  return sum;
}

__device__ float distance(float4 four, float query) {
  return (fabsf(four.x - query) + fabsf(four.y - query)) +
         (fabsf(four.z - query) + fabsf(four.w - query));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    distances(const float4* words, const float* queries, float* result, int count) {
  int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
#ifdef SICK
  for (int query = 0; query < QUERIES; ++query) {
    float asked = queries[query], sum = 0;
#pragma unroll 4
    for (int i = first; i < count; i += stride) sum += distance(words[i], asked);
    sum = block_sum(sum);
    if (threadIdx.x == 0) result[query * gridDim.x + blockIdx.x] = sum;
  }
#else
  float sums[QUERIES] = {};
#pragma unroll 2
  for (int i = first; i < count; i += stride) {
    float4 four = words[i];
#pragma unroll
    for (int query = 0; query < QUERIES; ++query) sums[query] += distance(four, queries[query]);
  }
#pragma unroll
  for (int query = 0; query < QUERIES; ++query) {
    float sum = block_sum(sums[query]);
    if (threadIdx.x == 0) result[query * gridDim.x + blockIdx.x] = sum;
  }
#endif
}
