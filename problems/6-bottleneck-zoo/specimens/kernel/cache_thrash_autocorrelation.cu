// A warp autocorrelates one segment: result[lag] is the sum of x[i] * x[i + lag].
constexpr int SEGMENT = 1280, LAGS = 16, WORDS = SEGMENT - LAGS;

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

extern "C" __global__ void autocorrelation(const float* segments, float* result) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const float* x = segments + (size_t)warp * SEGMENT;
  result += (size_t)warp * LAGS;
#ifdef SICK
#pragma unroll 1
  for (int lag = 0; lag < LAGS; ++lag) {
    float sum = 0;
#pragma unroll 4
    for (int i = lane; i < WORDS; i += 32) sum += x[i] * x[i + lag];
    sum = warp_sum(sum);
    if (lane == 0) result[lag] = sum;
  }
#else
  constexpr int PIECE = 128;
  float sums[LAGS] = {};
#pragma unroll 1
  for (int start = 0; start < WORDS; start += PIECE) {
    int end = min(start + PIECE, WORDS);
#pragma unroll
    for (int lag = 0; lag < LAGS; ++lag)
#pragma unroll 4
      for (int i = start + lane; i < end; i += 32) sums[lag] += x[i] * x[i + lag];
  }
#pragma unroll
  for (int lag = 0; lag < LAGS; ++lag) {
    float sum = warp_sum(sums[lag]);
    if (lane == 0) result[lag] = sum;
  }
#endif
}
