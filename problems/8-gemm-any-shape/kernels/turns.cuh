// How the blocks of a cluster, up to eight, fill their rings of stages.
//
// Blocks one above the other share B, those side by side share A. They load a shared operand in turns: in each step of K one of them loads
// all of it, to all of them. `full`: a stage's bytes have come. `empty`: the block's own consumers have read it. `ready_a`, `ready_b`: the
// stages of all sharers are free for the load that the block makes next. So a step costs an arrival at another block for each shared
// operand, by the producer. Consumers make none: one takes a warp as long as the products of 64 x 64 by 64.
#pragma once
#include "loads.cuh"
#include "tiles.cuh"
#include "turn.cuh"

#ifndef LOADS
#define LOADS 1
#endif
constexpr int STAGE_K = DEPTH * TILE_K;
constexpr bool A_SHARED = CLUSTER_N > 1, B_SHARED = CLUSTER_M > 1;
constexpr int STAGE_BARRIERS = 2 + A_SHARED + B_SHARED; // of 8 bytes
struct Ring {
  uint32_t stages, full, empty, ready_a, ready_b;
};
__device__ __forceinline__ Ring ring_at(uint32_t stages, uint32_t barriers) {
  const uint32_t empty = barriers + STAGES * 8, ready_a = empty + STAGES * 8;
  return Ring{stages, barriers, empty, ready_a, ready_a + (A_SHARED ? STAGES * 8 : 0)};
}
// One thread: fetches both maps, sets the barriers.
__device__ __forceinline__ void begin_ring(const CUtensorMap* a, const CUtensorMap* b, const Ring& ring, int releases) {
  prefetch_map(a);
  prefetch_map(b);
  for (int i = 0; i < STAGES; ++i) {
    barrier_init(ring.full + 8 * i, 1);
    barrier_init(ring.empty + 8 * i, releases);
    if constexpr (A_SHARED) barrier_init(ring.ready_a + 8 * i, CLUSTER_N);
    if constexpr (B_SHARED) barrier_init(ring.ready_b + 8 * i, CLUSTER_M);
  }
}
// An operand's stage, to all blocks in `blocks`. `along`: its first row of A or column of B. `apart`: bytes from 64 k to the next. COLUMNS:
// of a box of rows of k. ONCE: no other cluster reads them.
template <int MN, int SPAN, int COLUMNS, bool SHARED, bool ONCE>
__device__ __forceinline__ void load_operand(uint32_t to, int apart, const CUtensorMap* map, uint32_t barrier, int along, int k0,
                                             uint16_t blocks) {
#pragma unroll
  for (int depth = 0; depth < DEPTH; ++depth)
#pragma unroll
    for (int i = 0; i < (MN ? SPAN / COLUMNS : 1); ++i) {
      const uint32_t box = to + depth * apart + i * (COLUMNS * 128);
      const int k = k0 + depth * TILE_K, x = MN ? along + i * COLUMNS : k, y = MN ? k : along;
      if constexpr (SHARED && ONCE) tma_load_once_multicast(box, map, barrier, x, y, blocks);
      else if constexpr (SHARED) tma_load_multicast(box, map, barrier, x, y, blocks);
      else if constexpr (ONCE) tma_load_once(box, map, barrier, x, y);
      else tma_load(box, map, barrier, x, y);
    }
}
// What a thread does of whose turn it is to load a shared operand. `mine`: the block's number among the sharers; `steps` calls a function
// with the place and the first k of each step; `load` loads into a stage.
template <int SHARERS, class Steps, class Load>
__device__ __forceinline__ void load_in_turns(uint32_t ready, int mine, Steps steps, Load load) {
  Turn<SHARERS, STAGES> turn;
  int stage = 0;
  bool filled = false; // each stage, once
  wait_for_previous();
  steps([&](const Place& at, int k0) {
    if (turn.sharer == mine && (LOADS || !filled)) {
      barrier_wait(ready + 8 * turn.slot, turn.phase);
      load(stage, at, k0);
    }
    turn.next();
    if (++stage == STAGES) stage = 0, filled = true;
  });
}
// The producing warpgroup. Of its first warp a thread waits until the block's consumers have read a stage, announces its bytes, loads what
// is not shared, and tells those whose turn it is. Of the next two a thread each loads a shared operand. `first`: the rank of the first
// block that shares. ONCE_A, ONCE_B: no other cluster reads what this one loads.
template <int TILE_M, int B_COLUMNS, bool ONCE_A, bool ONCE_B, class Steps>
__device__ __forceinline__ void produce_so(const Ring& ring, const CUtensorMap* map_a, const CUtensorMap* map_b, int first, int below,
                                           int beside, Steps steps) {
  constexpr int A_BYTES = TILE_M * TILE_K * 2, BOTH_BYTES = A_BYTES + B_COLUMNS * TILE_K * 2, STAGE_BYTES = DEPTH * BOTH_BYTES;
  const auto load_a = [&](int stage, const Place& at, int k0) {
    uint16_t blocks = 0; // of the same row
    for (int i = 0; i < CLUSTER_N; ++i) blocks |= 1u << (first + below + CLUSTER_M * i);
    const uint32_t to = ring.stages + stage * STAGE_BYTES;
    load_operand<A_MN, TILE_M, 64, A_SHARED, ONCE_A>(to, BOTH_BYTES, map_a, ring.full + 8 * stage, at.row, k0, blocks);
  };
  const auto load_b = [&](int stage, const Place& at, int k0) {
    uint16_t blocks = 0; // of the same column
    for (int i = 0; i < CLUSTER_M; ++i) blocks |= 1u << (first + i + CLUSTER_M * beside);
    const uint32_t to = ring.stages + stage * STAGE_BYTES + A_BYTES;
    load_operand<B_MN, B_COLUMNS, B_BOX, B_SHARED, ONCE_B>(to, BOTH_BYTES, map_b, ring.full + 8 * stage, at.column, k0, blocks);
  };
  const int warp = __shfl_sync(~0u, threadIdx.x % 128 / 32, 0);
  if (warp == 0 && elected()) {
    Turn<CLUSTER_N, STAGES> turn_a;
    Turn<CLUSTER_M, STAGES> turn_b;
    int stage = 0;
    uint32_t phase = 0;
    bool filled = false;
    if constexpr (!(A_SHARED && B_SHARED)) wait_for_previous();
    steps([&](const Place& at, int k0) {
      barrier_wait(ring.empty + 8 * stage, phase ^ 1);
      if (LOADS || !filled) {
        barrier_expect(ring.full + 8 * stage, STAGE_BYTES);
        if constexpr (A_SHARED) barrier_arrive_at(ring.ready_a + 8 * turn_a.slot, first + below + CLUSTER_M * turn_a.sharer);
        if constexpr (B_SHARED) barrier_arrive_at(ring.ready_b + 8 * turn_b.slot, first + turn_b.sharer + CLUSTER_M * beside);
        if constexpr (!A_SHARED) load_a(stage, at, k0);
        if constexpr (!B_SHARED) load_b(stage, at, k0);
        turn_a.next();
        turn_b.next();
      } else {
        barrier_arrive(ring.full + 8 * stage);
      }
      if (++stage == STAGES) stage = 0, phase ^= 1, filled = true;
    });
  } else if (A_SHARED && warp == 1 && elected()) {
    load_in_turns<CLUSTER_N>(ring.ready_a, beside, steps, load_a);
  } else if (B_SHARED && warp == 2 && elected()) {
    load_in_turns<CLUSTER_M>(ring.ready_b, below, steps, load_b);
  }
}
// The same, for C of m by n. Where C is one cluster's tile high, B is read once; where it is as wide, A. Where both, one of them is small.
template <int TILE_M, int B_COLUMNS, class Steps>
__device__ __forceinline__ void produce(const Ring& ring, const CUtensorMap* map_a, const CUtensorMap* map_b, int first, int below,
                                        int beside, int m, int n, Steps steps) {
  if (m <= TILE_M * CLUSTER_M) produce_so<TILE_M, B_COLUMNS, false, true>(ring, map_a, map_b, first, below, beside, steps);
  else if (n <= TILE_N * CLUSTER_N) produce_so<TILE_M, B_COLUMNS, true, false>(ring, map_a, map_b, first, below, beside, steps);
  else produce_so<TILE_M, B_COLUMNS, false, false>(ring, map_a, map_b, first, below, beside, steps);
}
