// Sums the bits in which a word differs from eight code words.
constexpr unsigned CODE = 0x9E3779B9u;
constexpr int CODES = 8;

__device__ int bits(unsigned word) {
#ifdef SICK
  int count = 0;
#pragma unroll
  for (int bit = 0; bit < 32; ++bit) count += word >> bit & 1;
  return count;
#else
  return __popc(word);
#endif
}

extern "C" __global__ void bit_distances(const unsigned* words, int* result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned word = words[i];
  int total = 0;
#pragma unroll 1
  for (int code = 1; code <= CODES; ++code) total += bits(word ^ code * CODE);
  result[i] = total;
}
