// A warp walks from row to row; its lanes sum up the third central moment of their columns.
constexpr int HOPS = 160;

extern "C" __global__ void __launch_bounds__(128)
    third_moments(const float* samples, const int* after, const int* starts, float* result) {
  int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int row = starts[walk];
#ifdef SICK
  float sample[HOPS];  // in registers: all loops are unrolled
  float mean = 0;
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    sample[hop] = samples[row * 32 + lane];
    row = after[row];
  }
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) mean += sample[hop];
  mean /= HOPS;
  float moment = 0;
#pragma unroll
  for (int hop = 0; hop < HOPS; ++hop) {
    float centred = sample[hop] - mean;
    moment += centred * centred * centred;
  }
  moment /= HOPS;
#else
  float first = 0, second = 0, third = 0;
#pragma unroll 4
  for (int hop = 0; hop < HOPS; ++hop) {
    float sample = samples[row * 32 + lane];
    row = after[row];
    first += sample;
    second += sample * sample;
    third += sample * sample * sample;
  }
  float mean = first / HOPS;
  float moment = third / HOPS - 3 * mean * (second / HOPS) + 2 * mean * mean * mean;
#endif
  result[walk * 32 + lane] = moment;
}
