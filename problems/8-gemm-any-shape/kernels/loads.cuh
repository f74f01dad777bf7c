// TMA loads of what nobody reads again: it leaves L2 first, so that it does not displace what others do. Weights that stream through once.
#pragma once
#include "hopper.cuh"

// The policy that createpolicy.fractional.L2::evict_first makes of a fraction of 1, as a constant: it stays in a uniform register.
constexpr uint64_t EVICT_FIRST = 0x12F0000000000000;

__device__ __forceinline__ void tma_load_once(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                   to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(EVICT_FIRST)
               : "memory");
}
// To the same place in all blocks of the cluster whose bits are set in `blocks`.
__device__ __forceinline__ void tma_load_once_multicast(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, uint16_t blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(blocks), "l"(EVICT_FIRST)
               : "memory");
}
