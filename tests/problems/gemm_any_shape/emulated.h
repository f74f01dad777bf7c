// What dots.cu uses of CUDA, on the CPU: every thread of a cluster is a fiber, and a barrier lets the others run. Loads are checked,
// stores to C are counted. The layout of mma.sync's fragments is the one of the PTX ISA, "Matrix Fragments for mma.m16n8k16".
#pragma once
#include <ucontext.h>

#include <cstring>
#include <type_traits>
#include <vector>

#include "vectors.cuh"

#define __global__
#define __launch_bounds__(...)
#define LAUNCHED_WITH(...) static_assert(true)
#define threadIdx (fibers[now].thread)
#define blockIdx (fibers[now].block)

struct float2 {
  float x, y;
};
inline float2 make_float2(float x, float y) { return float2{x, y}; }
inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, int by) { return (static_cast<uint64_t>(high) << 32 | low) << by >> 32; }
inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t selector) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<uint32_t>(both >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  return result;
}

// ---- Memory: bf16, of NaN but for the operands -------------------------------------------------------
struct element;
constexpr int ROOM = 1 << 19;
alignas(16) inline uint16_t memory[ROOM];
inline bool exists[ROOM];
inline int stores[ROOM], faults = 0;
struct element {
  uint16_t bits;
  inline element& operator=(const element& from);
};
inline int64_t place(const void* at) { return static_cast<const uint16_t*>(at) - memory; }
inline element& element::operator=(const element& from) {
  bits = from.bits;
  ++stores[place(this)];
  return *this;
}
// Sixteen bytes at a multiple of 16, of which some belong to an operand.
inline uint4 vector_at(const uint4* from) {
  const int64_t at = place(from);
  const bool inside = at >= 0 && at + 8 <= ROOM;
  faults += !inside || at % 8 != 0 || std::none_of(exists + at, exists + at + 8, [](bool one) { return one; });
  uint4 v{};
  if (inside) std::memcpy(&v, from, 16);
  return v;
}
inline uint32_t one_at(const element* from) {
  const int64_t at = place(from);
  const bool inside = at >= 0 && at < ROOM && exists[at];
  faults += !inside;
  return inside ? from->bits : 0;
}

// ---- Fibers ---------------------------------------------------------------------------------------
struct Index {
  int x, y;
};
struct Fiber {
  ucontext_t context;
  Index thread, block;
  int rank;
  bool ended;
};
inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline int now = 0, cluster = 1;
struct Barrier {
  int arrived = 0, turn = 0;
};
inline std::vector<Barrier> warps, blocks;
inline Barrier whole;
inline std::vector<std::vector<float>> shared;

inline void wait(Barrier& barrier, int size) {
  const int turn = barrier.turn;
  if (++barrier.arrived == size) {
    barrier.arrived = 0, ++barrier.turn;
    return;
  }
  while (barrier.turn == turn) swapcontext(&fibers[now].context, &scheduler);
}
inline int warp_number() { return now / 32; }
inline void __syncthreads() { wait(blocks[fibers[now].rank], 256); }
inline void __syncwarp() {}
inline void cluster_sync() { wait(whole, 256 * cluster); }
inline void cluster_arrive() {}
inline void cluster_wait() { cluster_sync(); }
inline int __shfl_sync(unsigned, int value, int) { return value; } // of numbers that a warp shares
inline uint32_t cluster_size() { return cluster; }
inline uint32_t cluster_rank() { return fibers[now].rank; }
inline void let_next_start() {}
inline void wait_for_previous() {}
inline float* shared_floats(int first) { return shared[fibers[now].rank].data() + first; }
inline uint32_t shared_address(const float* at) { return static_cast<uint32_t>(at - shared_floats(0)); }
inline float peek(uint32_t at, uint32_t block) { return shared[block][at]; }

// ---- Arithmetic -------------------------------------------------------------------------------------
inline float as_float(uint32_t bits) {
  const uint32_t word = bits << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
inline uint16_t rounded(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return (word + 0x7FFF + (word >> 16 & 1)) >> 16;
}
inline element to_element(float value) { return element{rounded(value)}; }
struct Fragments {
  uint32_t a[32][4], b[32][2];
};
inline std::vector<Fragments> fragments;
inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const int lane = fibers[now].thread.x % 32;
  Fragments& of = fragments[warp_number()];
  std::copy(a, a + 4, of.a[lane]);
  of.b[lane][0] = b0, of.b[lane][1] = b1;
  wait(warps[warp_number()], 32);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const uint32_t left = of.a[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], right = of.b[column * 4 + k % 8 / 2][k / 8];
      d[i] += as_float(left >> k % 2 * 16 & 0xFFFF) * as_float(right >> k % 2 * 16 & 0xFFFF);
    }
  }
  wait(warps[warp_number()], 32);
}
