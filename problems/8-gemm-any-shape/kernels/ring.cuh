// How the blocks of a cluster, up to eight, fill their rings of stages.
//
// Blocks one above the other share B, those side by side share A. Of each stage of what it shares a block loads a part (boxes.cuh), to
// all that share it. `full`: a stage's bytes have come. `ready_a`, `ready_b`: all blocks that the block's load of A, or of B, reaches have
// read the stage. Their consumers arrive there themselves: by way of the producers the next load would begin later. An arrival at another
// block holds up a warp, so those of a step are spread over a consumer's warps.
#pragma once
#include "loads.cuh"
#include "tiles.cuh"

#ifndef LOADS
#define LOADS 1
#endif
constexpr int STAGE_K = DEPTH * TILE_K;
constexpr bool SHARED = CLUSTER_M * CLUSTER_N > 1;
constexpr int STAGE_BARRIERS = 2 + SHARED; // of 8 bytes
struct Ring {
  uint32_t stages, full, ready_a, ready_b;
};
__device__ __forceinline__ Ring ring_at(uint32_t stages, uint32_t barriers) {
  return Ring{stages, barriers, barriers + STAGES * 8, barriers + STAGES * 16};
}
// One thread: fetches both maps, sets the barriers. `consumers`: warpgroups of a block that read a stage.
__device__ __forceinline__ void begin_ring(const CUtensorMap* a, const CUtensorMap* b, const Ring& ring, int consumers) {
  prefetch_map(a);
  prefetch_map(b);
  for (int i = 0; i < STAGES; ++i) {
    barrier_init(ring.full + 8 * i, 1);
    barrier_init(ring.ready_a + 8 * i, consumers * CLUSTER_N);
    if constexpr (SHARED) barrier_init(ring.ready_b + 8 * i, consumers * CLUSTER_M);
  }
}
// The barriers at which a consumer's thread arrives for each stage: of a block's loads of A, or of B. 0: it does not. `first`: the rank of
// the first block that shares; `below`, `beside`: the block's place among them.
__device__ __forceinline__ uint32_t released_by(const Ring& ring, int first, int below, int beside) {
  const int lane = threadIdx.x % 32, which = lane * 4 + threadIdx.x % 128 / 32;
  if constexpr (!SHARED) return which == 0 ? ring.ready_a : 0;
  if (which >= CLUSTER_M + CLUSTER_N) return 0;
  const bool of_a = which < CLUSTER_N;
  const uint32_t barriers = of_a ? ring.ready_a : ring.ready_b;
  const int block = first + (of_a ? below + CLUSTER_M * which : which - CLUSTER_N + CLUSTER_M * beside);
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barriers), "r"(block));
  return there;
}
// In the loop over steps this has to become a predicated instruction: a branch after which lanes have to meet again takes longer.
__device__ __forceinline__ void release(uint32_t barriers, int stage) {
  if (barriers == 0) return;
  const uint32_t barrier = barriers + 8 * stage;
  if constexpr (SHARED) asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
  else barrier_arrive(barrier);
}
// The block's part of an operand's stage, to all blocks in `blocks`. `along`: the stage's first row of A or column of B. `apart`: bytes
// from 64 k to the next. COLUMNS: of a box of rows of k. ONCE: no other cluster reads it.
template <int MN, int SPAN, int PARTS, int COLUMNS, bool ONCE>
__device__ __forceinline__ void load_part(uint32_t to, int apart, const CUtensorMap* map, uint32_t barrier, int along, int k0, int part,
                                          uint16_t blocks) {
  using P = Part<MN, SPAN, PARTS, COLUMNS>;
#pragma unroll
  for (int turn = 0; turn < P::TURNS; ++turn) {
    const int first = P::first(part, turn), deep = P::first_k(part);
    if (!P::EVEN && turn == P::TURNS - 1 && first >= SPAN) break;
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth) {
      const uint32_t box = to + depth * apart + P::offset(part, turn);
      const int k = k0 + depth * TILE_K + deep, x = MN ? along + first : k, y = MN ? k : along + first;
      if constexpr (PARTS > 1 && ONCE) tma_load_once_multicast(box, map, barrier, x, y, blocks);
      else if constexpr (PARTS > 1) tma_load_multicast(box, map, barrier, x, y, blocks);
      else if constexpr (ONCE) tma_load_once(box, map, barrier, x, y);
      else tma_load(box, map, barrier, x, y);
    }
  }
}
// What a loading thread does. `ready`: the barriers of its loads; `steps` calls a function with the place and the first k of each step;
// `load` loads into a stage, and is told how often there were loads before. The last stages are waited for, too: until then other
// blocks arrive here.
template <class Steps, class Load> __device__ __forceinline__ void load_stages(uint32_t ready, Steps steps, Load load) {
  int stage = 0, loaded = 0;
  uint32_t phase = 0;
  wait_for_previous();
  steps([&](const Place& at, int k0) {
    barrier_wait(ready + 8 * stage, phase ^ 1);
    load(stage, at, k0, loaded);
    ++loaded;
    if (++stage == STAGES) stage = 0, phase ^= 1;
  });
  if constexpr (SHARED)
    for (int left = min(loaded, STAGES); left > 0; --left) {
      const int last = stage_before(stage, left);
      barrier_wait(ready + 8 * last, last < stage ? phase : phase ^ 1);
    }
}
// The producing warpgroup: a thread of its first warp announces a stage's bytes and loads A, one of the second loads B; in a block that
// shares nothing the first loads both. ONCE_A, ONCE_B: no other cluster reads what this one loads.
template <int TILE_M, int B_COLUMNS, bool ONCE_A, bool ONCE_B, class Steps>
__device__ __forceinline__ void produce_so(const Ring& ring, const CUtensorMap* map_a, const CUtensorMap* map_b, int first, int below,
                                           int beside, Steps steps) {
  constexpr int A_BYTES = TILE_M * TILE_K * 2, BOTH_BYTES = A_BYTES + B_COLUMNS * TILE_K * 2, STAGE_BYTES = DEPTH * BOTH_BYTES;
  uint16_t row = 0, column = 0; // blocks that share A, that share B
  for (int i = 0; i < CLUSTER_N; ++i) row |= 1u << (first + below + CLUSTER_M * i);
  for (int i = 0; i < CLUSTER_M; ++i) column |= 1u << (first + i + CLUSTER_M * beside);
  const auto load_a = [&](int stage, const Place& at, int k0) {
    const uint32_t to = ring.stages + stage * STAGE_BYTES;
    load_part<A_MN, TILE_M, CLUSTER_N, 64, ONCE_A>(to, BOTH_BYTES, map_a, ring.full + 8 * stage, at.row, k0, beside, row);
  };
  const auto load_b = [&](int stage, const Place& at, int k0) {
    const uint32_t to = ring.stages + stage * STAGE_BYTES + A_BYTES;
    load_part<B_MN, B_COLUMNS, CLUSTER_M, B_BOX, ONCE_B>(to, BOTH_BYTES, map_b, ring.full + 8 * stage, at.column, k0, below, column);
  };
  const int warp = __shfl_sync(~0u, threadIdx.x % 128 / 32, 0);
  if (warp == 0 && elected()) {
    load_stages(ring.ready_a, steps, [&](int stage, const Place& at, int k0, int loaded) {
      if (LOADS || loaded < STAGES) {
        barrier_expect(ring.full + 8 * stage, STAGE_BYTES);
        load_a(stage, at, k0);
        if constexpr (!SHARED) load_b(stage, at, k0);
      } else {
        barrier_arrive(ring.full + 8 * stage);
      }
    });
  } else if (SHARED && warp == 1 && elected()) {
    load_stages(ring.ready_b, steps, [&](int stage, const Place& at, int k0, int loaded) {
      if (LOADS || loaded < STAGES) load_b(stage, at, k0);
    });
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
