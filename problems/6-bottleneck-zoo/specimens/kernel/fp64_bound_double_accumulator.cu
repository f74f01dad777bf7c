// Horner's scheme of degree 256, all coefficients equal, for two words a thread.
constexpr int DEGREE = 256;
#ifdef SICK
using Sum = double;
#else
using Sum = float;
#endif

extern "C" __global__ void __launch_bounds__(256)
    polynomial(const float2* words, float2* result, float coefficient) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Sum x = words[i].x, y = words[i].y, c = coefficient, of_x = c, of_y = c;
#pragma unroll 16
  for (int k = 0; k < DEGREE; ++k) {
    of_x = of_x * x + c;
    of_y = of_y * y + c;
  }
  result[i] = make_float2(of_x, of_y);
}
