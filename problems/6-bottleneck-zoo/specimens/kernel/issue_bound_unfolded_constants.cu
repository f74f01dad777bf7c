// v = max(c (a v + b) + d, low), again and again, for two words a thread.
constexpr float A = 0.9f, B = 0.05f, C = 1.05f, D = -0.02f, LOW = 0.4f;

__device__ float next(float v) {
#ifdef SICK
  return fmaxf(fmaf(fmaf(v, A, B), C, D), LOW);
#else
  return fmaxf(fmaf(v, C * A, C * B + D), LOW);
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    iterate(const float2* words, float2* result, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 v = words[i];
#pragma unroll 16
  for (int step = 0; step < steps; ++step) v = make_float2(next(v.x), next(v.y));
  result[i] = v;
}
