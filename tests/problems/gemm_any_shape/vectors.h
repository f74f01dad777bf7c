// What the kernels' headers use of CUDA, on the CPU.
#pragma once
#include <algorithm>
#include <cstdint>

#define __device__
#define __forceinline__ inline
using std::max;
using std::min;

struct uint4 {
  uint32_t x, y, z, w;
};
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return uint4{x, y, z, w}; }
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, int by) { return (static_cast<uint64_t>(high) << 32 | low) >> by; }
