// Horner's scheme of degree 256, all coefficients equal, for two words a thread.
#include <cuda_fp16.h>
constexpr int DEGREE = 256;

extern "C" __global__ void __launch_bounds__(256)
    polynomial(const __half2* words, __half2* result, float coefficient) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef SICK
  float2 x = __half22float2(words[i]), sum = make_float2(coefficient, coefficient);
#pragma unroll 16
  for (int k = 0; k < DEGREE; ++k) {
    sum.x = fmaf(sum.x, x.x, coefficient);
    sum.y = fmaf(sum.y, x.y, coefficient);
  }
  result[i] = __float22half2_rn(sum);
#else
  __half2 x = words[i], all = __float2half2_rn(coefficient), sum = all;
#pragma unroll 16
  for (int k = 0; k < DEGREE; ++k) sum = __hfma2(sum, x, all);
  result[i] = sum;
#endif
}
