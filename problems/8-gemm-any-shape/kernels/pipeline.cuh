// What keeps the turns of producer and consumers short. A step of 64 k of a tile of 64 x 80 is 160 cycles of the tensor cores: what a
// thread computes between two steps takes as long unless it is little.
#pragma once
#include "wgmma.cuh"

#ifndef DEPTH
#define DEPTH 1 // of a stage, in 64 k
#endif

// One lane of a converged warp. The compiler knows that it is one, so TMA's instructions take their operands from uniform registers as
// they are; with `threadIdx.x == 0` it wraps each instruction in a loop over lanes.
__device__ __forceinline__ bool elected() {
  uint32_t one;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(one));
  return one;
}
// Whether the thread is the elected one of the first warp, for all threads of a warpgroup alike.
__device__ __forceinline__ bool elected_of_first() { return __shfl_sync(~0u, threadIdx.x % 128 / 32, 0) == 0 && elected(); }

// A value that the compiler cannot compute again: in a loop it would read the block's rank in each turn to address shared memory.
__device__ __forceinline__ uint32_t kept(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}
// Whether a phase is over, without waiting for it.
__device__ __forceinline__ bool barrier_test(uint32_t barrier, uint32_t parity) {
  uint32_t over;
  asm volatile("{ .reg .pred over; mbarrier.test_wait.parity.shared::cta.b64 over, [%1], %2; selp.u32 %0, 1, 0, over; }"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}
// The stage so many turns ago.
__device__ __forceinline__ int stage_before(int stage, int by) { return stage >= by ? stage - by : stage + STAGES - by; }

// A descriptor so many bytes further on. Only its lower word changes, as the address stays within its 14 bits.
__device__ __forceinline__ uint64_t further(uint64_t descriptor, uint32_t bytes) {
  const uint32_t low = static_cast<uint32_t>(descriptor) + (bytes >> 4);
  return descriptor >> 32 << 32 | low;
}
// The same value in all lanes, as the compiler cannot know of what changes in a loop with a wait in it. From such a one it adds to
// descriptors in uniform registers; else it moves each descriptor there by itself, between wgmma and wgmma.
__device__ __forceinline__ uint64_t uniform(uint64_t descriptor) {
  return descriptor >> 32 << 32 | __shfl_sync(~0u, static_cast<uint32_t>(descriptor), 0);
}
// Begins d (+)= a * b for the 64 k of a stage, or for DEPTH times as many, APART bytes from each other. `a`, `b`: descriptors of its first
// 16 k. B_BYTES: from 16 k of b to the next.
template <int MN_A, int MN_B, int APART = 0, int B_BYTES = MN_B ? 2048 : 32, int HEIGHT, int COUNT>
__device__ __forceinline__ void multiply_stage(float (&d)[HEIGHT][COUNT], uint64_t a, uint64_t b, bool accumulate) {
  wgmma_fence();
#pragma unroll
  for (int depth = 0; depth < (APART ? DEPTH : 1); ++depth)
#pragma unroll
    for (int i = 0; i < TILE_K / 16; ++i)
#pragma unroll
      for (int j = 0; j < HEIGHT; ++j)
        wgmma_of<MN_A, MN_B>(d[j], further(a, depth * APART + i * (MN_A ? 2048 : 32) + bytes_to<MN_A>(j * 64)),
                             further(b, depth * APART + i * B_BYTES), depth + i > 0 || accumulate);
  wgmma_commit();
}
