// A block adds up ``each`` rows of the table, a word a thread; a row has as many words as a block
// has threads. The twins differ in where the table lies.
extern "C" __global__ void __launch_bounds__(256)
    sum_rows(const int* __restrict__ table, const int* __restrict__ order, int* result, int each) {
  order += (size_t)blockIdx.x * each;
  int sum = 0;
#pragma unroll 8
  for (int i = 0; i < each; ++i) sum += table[(size_t)order[i] * blockDim.x + threadIdx.x];
  result[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
