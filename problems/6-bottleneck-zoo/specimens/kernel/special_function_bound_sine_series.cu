// The sum of sin(k x) / k for k from 1 to 64.
constexpr int TERMS = 64;

extern "C" __global__ void sine_series(const float* angles, float* result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = angles[i], sum = 0;
#ifdef SICK
#pragma unroll
  for (int k = 1; k <= TERMS; ++k) sum = fmaf(__sinf(k * x), 1.0f / k, sum);
#else
  float before = 0, sine = __sinf(x), twice_cosine = 2 * __cosf(x);
#pragma unroll
  for (int k = 1; k <= TERMS; ++k) {
    sum = fmaf(sine, 1.0f / k, sum);
    float next = fmaf(twice_cosine, sine, -before);
    before = sine;
    sine = next;
  }
#endif
  result[i] = sum;
}
