// A warp sums the eight words of the nodes of eight lists; lanes beyond the eighth repeat the others.
constexpr int LISTS = 8, WORDS = 8;

extern "C" __global__ void list_sums(const int* nodes, const int* heads, int* result, int hops) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int word = lane % WORDS;
  heads += warp * LISTS;
  result += warp * LISTS * WORDS;
#ifdef SICK
#pragma unroll 1
  for (int list = 0; list < LISTS; ++list) {
    int node = heads[list], sum = 0;
#pragma unroll 1
    for (int hop = 0; hop < hops; ++hop) {
      int value = nodes[node * WORDS + word];
      sum += value;
      node = __shfl_sync(0xffffffff, value, 0);
    }
    if (lane < WORDS) result[list * WORDS + word] = sum;
  }
#else
  int node[LISTS], sum[LISTS];
#pragma unroll
  for (int list = 0; list < LISTS; ++list) {
    node[list] = heads[list];
    sum[list] = 0;
  }
#pragma unroll 1
  for (int hop = 0; hop < hops; ++hop) {
    int value[LISTS];
#pragma unroll
    for (int list = 0; list < LISTS; ++list) value[list] = nodes[node[list] * WORDS + word];
#pragma unroll
    for (int list = 0; list < LISTS; ++list) {
      sum[list] += value[list];
      node[list] = __shfl_sync(0xffffffff, value[list], 0);
    }
  }
#pragma unroll
  for (int list = 0; list < LISTS; ++list)
    if (lane < WORDS) result[list * WORDS + word] = sum[list];
#endif
}
