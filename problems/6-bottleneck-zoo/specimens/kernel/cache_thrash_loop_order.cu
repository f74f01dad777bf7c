// A block sums the distances of its queries to all entries of one table.
constexpr int THREADS = 1024, QUERIES = 64;

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

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    distances(const float* tables, const float* queries, float* result, int entries) {
  // The second half of the grid, which shares SMs with the first, has a table of its own.
  const float* table = tables + (blockIdx.x < gridDim.x / 2 ? 0 : entries);
  queries += blockIdx.x * QUERIES;
  result += blockIdx.x * QUERIES;
#ifdef SICK
  for (int query = 0; query < QUERIES; ++query) {
    float asked = queries[query], sum = 0;
#pragma unroll 8
    for (int i = threadIdx.x; i < entries; i += THREADS) sum += fabsf(table[i] - asked);
    sum = block_sum(sum);
    if (threadIdx.x == 0) result[query] = sum;
  }
#else
  constexpr int TOGETHER = 8;
  for (int query = 0; query < QUERIES; query += TOGETHER) {
    float sums[TOGETHER] = {}, asked[TOGETHER];
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j) asked[j] = queries[query + j];
#pragma unroll 2
    for (int i = threadIdx.x; i < entries; i += THREADS) {
      float entry = table[i];
#pragma unroll
      for (int j = 0; j < TOGETHER; ++j) sums[j] += fabsf(entry - asked[j]);
    }
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j) {
      float sum = block_sum(sums[j]);
      if (threadIdx.x == 0) result[query + j] = sum;
    }
  }
#endif
}
