// A block of 1024 threads iterates a formula; a thread's elements are independent chains in registers.
#ifdef SICK
constexpr int EACH = 32;  // over 32 registers, so one block an SM
#else
constexpr int EACH = 1;
#endif

extern "C" __global__ void __launch_bounds__(1024)
    iterate(const float* values, float* result, int steps, float factor, float added) {
  size_t first = (size_t)blockIdx.x * blockDim.x * EACH + threadIdx.x;
  float value[EACH];
#pragma unroll
  for (int j = 0; j < EACH; ++j) value[j] = values[first + j * blockDim.x];
#pragma unroll(64 / EACH)
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int j = 0; j < EACH; ++j) value[j] = fmaf(factor, value[j], added);
#pragma unroll
  for (int j = 0; j < EACH; ++j) result[first + j * blockDim.x] = value[j];
}
