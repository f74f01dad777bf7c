// A block computes ``each`` elements a thread. Both twins are this text: only the grid differs.
extern "C" __global__ void __launch_bounds__(1024, 2)
    iterate(const float* values, float* result, int each, int steps, float factor, float added) {
  size_t first = (size_t)blockIdx.x * blockDim.x * each + threadIdx.x;
  for (int j = 0; j < each; ++j) {
    size_t i = first + (size_t)j * blockDim.x;
    float v = values[i];
#pragma unroll 16
    for (int step = 0; step < steps; ++step) v = fmaf(factor, v, added);
    result[i] = v;
  }
}
