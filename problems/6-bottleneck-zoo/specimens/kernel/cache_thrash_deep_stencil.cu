// A result is the weighted sum of nine words, each in a plane of its own.
constexpr int RADIUS = 4, TAPS = 2 * RADIUS + 1;

__device__ constexpr float weight(int tap) {
  return 1.0f / (1 + (tap < RADIUS ? RADIUS - tap : tap - RADIUS));
}

extern "C" __global__ void __launch_bounds__(256)
    deep_stencil(const float* planes, float* result, int words) {
  int word = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef SICK
  // blockIdx.x counts fastest: a whole plane of results, then the next.
  size_t at = (size_t)blockIdx.y * words + word;
  float sum = 0;
#pragma unroll
  for (int tap = 0; tap < TAPS; ++tap)
    sum = fmaf(planes[at + (size_t)tap * words], weight(tap), sum);
  result[at] = sum;
#else
  constexpr int PLANES = 32;
  float window[TAPS];
#pragma unroll
  for (int tap = 1; tap < TAPS; ++tap) window[tap] = planes[(size_t)(tap - 1) * words + word];
#pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
    for (int tap = 1; tap < TAPS; ++tap) window[tap - 1] = window[tap];
    window[TAPS - 1] = planes[(size_t)(plane + TAPS - 1) * words + word];
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < TAPS; ++tap) sum = fmaf(window[tap], weight(tap), sum);
    result[(size_t)plane * words + word] = sum;
  }
#endif
}
