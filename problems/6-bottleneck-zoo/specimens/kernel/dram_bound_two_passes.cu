// Each block adds up what its threads load in strides of the grid, 16 bytes at a time.
__device__ float block_sum(float value) {
  __shared__ float of_warp[8];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < 8; ++warp) sum += of_warp[warp];
  return sum;
}

template <bool PLAIN, bool SQUARES>
__device__ void add_up(const float4* numbers, float* sums, int count) {
  float plain = 0, squares = 0;
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float4 four = numbers[i];
    if (PLAIN) plain += (four.x + four.y) + (four.z + four.w);
    if (SQUARES)
      squares += (four.x * four.x + four.y * four.y) + (four.z * four.z + four.w * four.w);
  }
  if (PLAIN) {
    float sum = block_sum(plain);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
  if (SQUARES) {
    float sum = block_sum(squares);
    if (threadIdx.x == 0) sums[gridDim.x + blockIdx.x] = sum;
  }
}

#ifdef SICK
extern "C" __global__ void sum(const float4* numbers, float* sums, int count) {
  add_up<true, false>(numbers, sums, count);
}

extern "C" __global__ void sum_of_squares(const float4* numbers, float* sums, int count) {
  add_up<false, true>(numbers, sums, count);
}
#else
extern "C" __global__ void both_sums(const float4* numbers, float* sums, int count) {
  add_up<true, true>(numbers, sums, count);
}
#endif
