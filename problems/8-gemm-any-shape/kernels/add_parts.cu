// Adds the parts of a product that stream_k left, always in the same order, and stores C. One block adding a tile's parts alone, as the
// last to arrive does, is bound by one multiprocessor's bandwidth to L2; here all of them read. A thread adds four accumulators that a
// thread of stream_k left; where those are few, `groups` threads of a block share the parts of the same four.
#include "chunk.cuh"
#include "work.cuh"

constexpr int THREADS = 256;
LAUNCHED_WITH(1, CHUNK, THREADS, 0);

// Two neighbours of a row of C, those that lie in it.
__device__ __forceinline__ void store_two(float first, float second, element* c, int row, int x, int m, int n) {
  if (row >= m || x >= n) return;
  element* to = c + static_cast<size_t>(row) * n + x;
  if (x + 1 < n && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<uint32_t*>(to) = pack(first, second);
    return;
  }
  to[0] = to_element(first);
  if (x + 1 < n) to[1] = to_element(second);
}

// `across`: tiles beside each other; `fours`: of a part, of all its tiles; `count`: parts.
extern "C" __global__ void __launch_bounds__(THREADS)
    add_parts(const float* parts, element* c, int m, int n, int tile_m, int tile_n, int across, int fours, int count, int groups) {
  __shared__ float4 of_groups[THREADS];
  const int each = THREADS / groups, group = threadIdx.x / each, index = blockIdx.x * each + threadIdx.x % each;
  let_next_start();
  wait_for_previous();
  float4 sums = {};
  if (index < fours) {
    const int end = count * (group + 1) / groups;
#pragma unroll 8
    for (int part = count * group / groups; part < end; ++part)
      add(sums, __ldcg(reinterpret_cast<const float4*>(parts) + static_cast<int64_t>(part) * fours + index));
  }
  if (groups > 1) {
    of_groups[threadIdx.x] = sums;
    __syncthreads();
    if (group > 0) return;
    for (int other = 1; other < groups; ++other) add(sums, of_groups[other * each + threadIdx.x]);
  }
  if (index >= fours) return;
  const int tile = index / (tile_m * tile_n / 4);
  const Four at = four_of(index - tile * (tile_m * tile_n / 4), tile_n);
  const int row = tile / across * tile_m + at.row, x = tile % across * tile_n + at.column;
  store_two(sums.x, sums.y, c, row, x, m, n);
  store_two(sums.z, sums.w, c, row + 8, x, m, n);
}
