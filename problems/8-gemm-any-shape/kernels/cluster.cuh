// What the blocks of a cluster whose size is chosen at launch know and read of each other.
#pragma once
#include "hopper.cuh"

__device__ __forceinline__ uint32_t cluster_size() {
  uint32_t size;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  return size;
}
// cluster_sync in two halves, where nobody reads what another block wrote before: a release would wait until C is written.
__device__ __forceinline__ void cluster_arrive() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// From the shared memory of a block of the cluster; `address` as that block has it.
__device__ __forceinline__ float peek(uint32_t address, uint32_t block) {
  float v;
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %1, %2;\nld.shared::cluster.f32 %0, [remote]; }"
               : "=f"(v)
               : "r"(address), "r"(block)
               : "memory");
  return v;
}
__device__ __forceinline__ float4 peek_four(uint32_t address, uint32_t block) {
  float4 v;
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %4, %5;\nld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote]; }"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address), "r"(block)
               : "memory");
  return v;
}
