// The blocks of one row (blockIdx.y) add up equal pieces of it; the result starts at zero.
// Both twins are this text: only the grid differs.
extern "C" __global__ void row_sums(const float4* rows, float* result, int width) {
  __shared__ float of_warp[32];
  const float4* row = rows + (size_t)blockIdx.y * width;
  float sum = 0;
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width; i += gridDim.x * blockDim.x) {
    float4 four = row[i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = of_warp[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0) atomicAdd(&result[blockIdx.y], sum);
  }
}
