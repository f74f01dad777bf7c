// Evaluates a polynomial of degree 256, all coefficients equal, at complex points.
constexpr int DEGREE = 256;

extern "C" __global__ void __launch_bounds__(256)
    polynomial(const float2* points, float2* result, float coefficient) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  float2 z = points[i], sum = make_float2(coefficient, 0);
#ifdef SICK
  float2 power = make_float2(1, 0);
#pragma unroll 8
  for (int k = 1; k <= DEGREE; ++k) {
    power = make_float2(power.x * z.x - power.y * z.y, power.x * z.y + power.y * z.x);
    sum.x = fmaf(coefficient, power.x, sum.x);
    sum.y = fmaf(coefficient, power.y, sum.y);
  }
#else
  // Division by (x - z)(x - conj z), which is real, leaves a remainder that is linear in z.
  float twice = 2 * z.x, square = z.x * z.x + z.y * z.y, last = 0, before = 0;
#pragma unroll 16
  for (int k = 1; k <= DEGREE; ++k) {
    float next = fmaf(twice, last, fmaf(-square, before, coefficient));
    before = last;
    last = next;
  }
  sum.x += z.x * last - square * before;
  sum.y = z.y * last;
#endif
  result[i] = sum;
}
