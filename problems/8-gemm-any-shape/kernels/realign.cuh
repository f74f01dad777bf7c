// Eight consecutive 16-bit elements from any address: what neither TMA (strides in multiples of 16 bytes) nor a 16-byte load can
// read where rows are an odd number of elements apart. Two aligned 16-byte loads hold them; the second is a neighbouring
// thread's first and comes from L1. A load never touches 16 bytes without an element of the operand in them.
#pragma once
#include "common.cuh"

// `pair`: 32 bytes from an aligned address; returns the 16 of them that begin `shift` bytes (even, below 16) after it.
__device__ __forceinline__ uint4 shifted(const uint4 (&pair)[2], uint32_t shift) {
  uint32_t w[8] = {pair[0].x, pair[0].y, pair[0].z, pair[0].w, pair[1].x, pair[1].y, pair[1].z, pair[1].w};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = shift & 4 ? w[i + 1] : w[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], (shift & 2) * 8);
  return make_uint4(w[0], w[1], w[2], w[3]);
}
// The first `valid` elements, zeros after them.
__device__ __forceinline__ uint4 cut(uint4 v, int valid) {
  if (valid >= 8) return v;
  const auto keep = [valid](uint32_t word, int first) {
    return valid >= first + 2 ? word : valid == first + 1 ? word & 0xFFFFu : 0u;
  };
  return make_uint4(keep(v.x, 0), keep(v.y, 2), keep(v.z, 4), keep(v.w, 6));
}

// Not the read-only path (ld.global.nc): a dependent launch may begin before the operand is written.
__device__ __forceinline__ uint4 load_if(bool wanted, const uint4* from) {
  uint4 v = make_uint4(0, 0, 0, 0);
  asm volatile("{ .reg .pred wanted; setp.ne.b32 wanted, %5, 0;\n@wanted ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
               : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
               : "l"(from), "r"(static_cast<int>(wanted))
               : "memory");
  return v;
}

struct Fetched {
  uint4 pair[2];
  uint32_t shift; // bytes from an aligned address to the first element
};
__device__ __forceinline__ uint32_t shift_of(const element* from) { return reinterpret_cast<uintptr_t>(from) & 15; }
// `valid`: elements of the row that are left, none if it is not positive.
__device__ __forceinline__ Fetched fetch(const element* from, int valid, uint32_t shift) {
  const uint4* aligned = reinterpret_cast<const uint4*>(reinterpret_cast<uintptr_t>(from) - shift);
  const bool both = static_cast<int>(shift) + 2 * min(valid, 8) > 16;
  return Fetched{{load_if(valid > 0, aligned), load_if(both, aligned + 1)}, shift};
}
// Where both loads touch memory of the operand, whatever they hold of it.
__device__ __forceinline__ Fetched fetch_both(const element* from, uint32_t shift) {
  const uint4* aligned = reinterpret_cast<const uint4*>(reinterpret_cast<uintptr_t>(from) - shift);
  return Fetched{{load_if(true, aligned), load_if(true, aligned + 1)}, shift};
}
__device__ __forceinline__ Fetched fetch(const element* from, int valid) { return fetch(from, valid, shift_of(from)); }
__device__ __forceinline__ uint4 arranged(const Fetched& f, int valid) { return cut(shifted(f.pair, f.shift), valid); }
