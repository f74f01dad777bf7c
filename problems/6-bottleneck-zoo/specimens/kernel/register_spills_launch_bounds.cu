// A thread runs 48 exponential moving averages of one series, eight loads ahead.
constexpr int AVERAGES = 48, AHEAD = 8;
#ifdef SICK
#define BOUNDS __launch_bounds__(256, 8)  // eight blocks an SM: 32 registers a thread
#else
#define BOUNDS __launch_bounds__(256)
#endif

extern "C" __global__ void BOUNDS averages(const float* samples, float* result, int count,
                                           int series) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  float average[AVERAGES] = {};
#pragma unroll 1
  for (int sample = 0; sample < count; sample += AHEAD) {
    float value[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) value[k] = samples[(size_t)(sample + k) * series + thread];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k)
#pragma unroll
      for (int i = 0; i < AVERAGES; ++i)
        average[i] = fmaf(average[i], 1 - 1.0f / (i + 2), value[k]);
  }
#pragma unroll
  for (int i = 0; i < AVERAGES; ++i) result[(size_t)i * series + thread] = average[i];
}
