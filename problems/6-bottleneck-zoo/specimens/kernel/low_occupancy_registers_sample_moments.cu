// A warp walks from row to row; its lanes sum up the third central moments of four columns each.
constexpr int HOPS = 48, EACH = 4;
constexpr float PART = 1.0f / HOPS;

extern "C" __global__ void __launch_bounds__(128)
    third_moments(const float4* samples, const int* after, const int* starts, float4* result) {
  int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int row = starts[walk];
  float moment[EACH] = {};
#ifdef SICK
  float4 sample[HOPS];  // in registers: all loops are unrolled
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    sample[hop] = samples[row * 32 + lane];
    row = after[row];
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    float mean = 0, sum = 0;
#pragma unroll
    for (int hop = 0; hop < HOPS; ++hop) mean += (&sample[hop].x)[j] * PART;
#pragma unroll
    for (int hop = 0; hop < HOPS; ++hop) {
      float x = (&sample[hop].x)[j] - mean;
      sum += x * x * x;
    }
    moment[j] = sum * PART;
  }
#else
  float first[EACH] = {}, second[EACH] = {}, third[EACH] = {};
#pragma unroll 2
  for (int hop = 0; hop < HOPS; ++hop) {
    float4 sample = samples[row * 32 + lane];
    row = after[row];
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      float x = (&sample.x)[j], square = x * x;
      first[j] += x;
      second[j] += square;
      third[j] += square * x;
    }
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    float mean = first[j] * PART;
    moment[j] = (third[j] - 3 * mean * second[j]) * PART + 2 * mean * mean * mean;
  }
#endif
  result[walk * 32 + lane] = make_float4(moment[0], moment[1], moment[2], moment[3]);
}
