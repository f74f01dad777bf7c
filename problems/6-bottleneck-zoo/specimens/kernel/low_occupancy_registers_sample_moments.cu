// A warp walks from row to row; its lanes sum up the third central moments of two columns each.
constexpr int HOPS = 80;

extern "C" __global__ void __launch_bounds__(128)
    third_moments(const float2* samples, const int* after, const int* starts, float2* result) {
  int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int row = starts[walk];
#ifdef SICK
  float2 sample[HOPS];  // in registers: all loops are unrolled
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    sample[hop] = samples[row * 32 + lane];
    row = after[row];
  }
  float2 mean = make_float2(0, 0), moment = make_float2(0, 0);
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    mean.x += sample[hop].x / HOPS;
    mean.y += sample[hop].y / HOPS;
  }
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    float x = sample[hop].x - mean.x, y = sample[hop].y - mean.y;
    moment.x += x * x * x / HOPS;
    moment.y += y * y * y / HOPS;
  }
#else
  float2 first = make_float2(0, 0), second = first, third = first;
#pragma unroll 4
  for (int hop = 0; hop < HOPS; ++hop) {
    float2 sample = samples[row * 32 + lane];
    row = after[row];
    float2 square = make_float2(sample.x * sample.x, sample.y * sample.y);
    first.x += sample.x;
    first.y += sample.y;
    second.x += square.x;
    second.y += square.y;
    third.x += square.x * sample.x;
    third.y += square.y * sample.y;
  }
  float2 mean = make_float2(first.x / HOPS, first.y / HOPS);
  float2 moment = make_float2(
      third.x / HOPS - 3 * mean.x * (second.x / HOPS) + 2 * mean.x * mean.x * mean.x,
      third.y / HOPS - 3 * mean.y * (second.y / HOPS) + 2 * mean.y * mean.y * mean.y);
#endif
  result[walk * 32 + lane] = moment;
}
