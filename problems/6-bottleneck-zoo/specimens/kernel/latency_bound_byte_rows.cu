// A warp adds up a row of bytes; ``length`` is a multiple of 2048.
extern "C" __global__ void __launch_bounds__(256)
    row_sums(const unsigned char* bytes, int* result, int length) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  bytes += (size_t)warp * length;
  unsigned sum = 0;
#ifdef SICK
#pragma unroll 1
  for (int i = lane; i < length; i += 32) sum += bytes[i];
#else
  constexpr int LOADS = 4;
  for (int first = 0; first < length; first += LOADS * 32 * sizeof(uint4)) {
    uint4 words[LOADS];
#pragma unroll
    for (int j = 0; j < LOADS; ++j) words[j] = ((const uint4*)(bytes + first))[j * 32 + lane];
#pragma unroll
    for (int j = 0; j < LOADS; ++j) {  // adds the four bytes of each 32-bit word
      sum = __dp4a(words[j].x, 0x01010101u, sum);
      sum = __dp4a(words[j].y, 0x01010101u, sum);
      sum = __dp4a(words[j].z, 0x01010101u, sum);
      sum = __dp4a(words[j].w, 0x01010101u, sum);
    }
  }
#endif
  sum = __reduce_add_sync(0xffffffff, sum);
  if (lane == 0) result[warp] = sum;
}
