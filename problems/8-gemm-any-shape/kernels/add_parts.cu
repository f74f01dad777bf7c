// Adds the parts of a product that stream_k left, always in the same order, and stores C. One block adding a tile's parts alone, as the
// last to arrive does, is bound by one multiprocessor's bandwidth to L2; here all of them read. A thread adds CHUNK elements.
#include "chunk.cuh"
#include "work.cuh"

constexpr int THREADS = 256;
LAUNCHED_WITH(1, CHUNK, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS)
    add_parts(const float* parts, element* c, int m, int n, int rows, int columns, int count) {
  const uint32_t across = ceil_div(n, CHUNK), chunk = blockIdx.x * THREADS + threadIdx.x; // C has at most 2^31 elements
  let_next_start();
  wait_for_previous();
  const int row = chunk / across, x = (chunk - row * across) * CHUNK;
  if (row >= m) return;
  float4 sums = {};
#pragma unroll 8
  for (int part = 0; part < count; ++part)
    add(sums, __ldcg(reinterpret_cast<const float4*>(parts + apart_index(part, row, x, rows, columns))));
  store_chunk(sums, c, row, x, n);
}
