// v = max(c (a v + b) + d, low), again and again, for two words a thread.
extern "C" __global__ void __launch_bounds__(256)
    iterate(const float2* words, float2* result, int steps, float a, float b, float c, float d,
            float low) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 v = words[i];
#ifndef SICK
  float factor = c * a, added = fmaf(c, b, d);
#endif
#pragma unroll 16
  for (int step = 0; step < steps; ++step) {
#ifdef SICK
    v.x = fmaxf(fmaf(fmaf(v.x, a, b), c, d), low);
    v.y = fmaxf(fmaf(fmaf(v.y, a, b), c, d), low);
#else
    v.x = fmaxf(fmaf(v.x, factor, added), low);
    v.y = fmaxf(fmaf(v.y, factor, added), low);
#endif
  }
  result[i] = v;
}
