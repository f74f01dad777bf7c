// Four neighbouring sums of a row of C.
#pragma once
#include "hopper.cuh"

constexpr int CHUNK = 4;

__device__ __forceinline__ void add(float4& sums, const float4& v) { sums.x += v.x, sums.y += v.y, sums.z += v.z, sums.w += v.w; }

// Stores those that lie in a row of n, by one access where they all do and their address allows it.
__device__ __forceinline__ void store_chunk(const float4& sums, element* c, int row, int x, int n) {
  element* to = c + static_cast<size_t>(row) * n + x;
  if (x + CHUNK <= n && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<uint2*>(to) = make_uint2(pack(sums.x, sums.y), pack(sums.z, sums.w));
    return;
  }
  const float each[CHUNK] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
  for (int i = 0; i < CHUNK; ++i)
    if (x + i < n) to[i] = to_element(each[i]);
}
