// Adds the parts of a product that stream_k left, always in the same order, and stores C. One block adding a tile's parts alone, as the
// last to arrive does, is bound by one multiprocessor's bandwidth to L2; here all of them read. A thread adds CHUNK elements.
#include "hopper.cuh"
#include "work.cuh"

constexpr int THREADS = 256, CHUNK = 4;
LAUNCHED_WITH(1, CHUNK, THREADS, 0);

extern "C" __global__ void __launch_bounds__(THREADS)
    add_parts(const float* parts, element* c, int m, int n, int rows, int columns, int count) {
  const uint32_t across = ceil_div(n, CHUNK), chunk = blockIdx.x * THREADS + threadIdx.x; // C has at most 2^31 elements
  let_next_start();
  wait_for_previous();
  const int row = chunk / across, x = (chunk - row * across) * CHUNK;
  if (row >= m) return;
  float sums[CHUNK] = {};
#pragma unroll 8
  for (int part = 0; part < count; ++part) {
    const float4 v = __ldcg(reinterpret_cast<const float4*>(parts + apart_index(part, row, x, rows, columns)));
    sums[0] += v.x, sums[1] += v.y, sums[2] += v.z, sums[3] += v.w;
  }
  element* to = c + static_cast<size_t>(row) * n + x;
  if (x + CHUNK <= n && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<uint2*>(to) = make_uint2(pack(sums[0], sums[1]), pack(sums[2], sums[3]));
    return;
  }
#pragma unroll
  for (int i = 0; i < CHUNK; ++i)
    if (x + i < n) to[i] = to_element(sums[i]);
}
