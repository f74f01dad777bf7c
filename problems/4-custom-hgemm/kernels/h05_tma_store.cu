// h5: C is stored through shared memory and TMA. From the accumulators' layout a warp's store covers half of each 32-byte sector
// it touches, 64 instructions with as many addresses and bounds checks. stmatrix turns 16 x 16 elements at a time into rows of
// shared memory, swizzled so that no two meet in a bank, and one thread hands 64 x 64 boxes to TMA, which clips what lies
// outside C and writes whole lines, while the warpgroup already multiplies the next tile.
//
// Protocol: the stages' as in h4. Each consumer has STORE_BOXES boxes of its own and a named barrier (its warpgroup's index):
//   leader: wait until at most STORE_BOXES - 1 stores still read -> barrier: this box is free -> all: stmatrix, fence (ordinary
//   stores, to be read by TMA) -> barrier: all have written -> leader: store, commit.
// A block may not end while TMA still reads its shared memory: the leader waits for all stores at the end.
#include "hopper.cuh"

#ifndef STAGES
#define STAGES 4
#endif
#ifndef STORE_BOXES
#define STORE_BOXES 2
#endif
constexpr int TILE_M = 128, TILE_N = 256, CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BOXES = TILE_N / 64; // of a consumer's part of C
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * STORE_BOXES * BOX_BYTES;
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448, "the ring and C's boxes must fit in shared memory");
static_assert(BOXES % STORE_BOXES == 0, "each tile begins with the first box");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    h5_tma_store(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t boxes = ring + STAGES * STAGE_BYTES; // everything that TMA touches first: it has to be 1024-aligned
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8;
  const int columns = ceil_div(n, TILE_N), tiles = ceil_div(m, TILE_M) * columns;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // from one lane: the compiler sees that a warp agrees

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, CONSUMERS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    registers_give<40>();
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int row = tile / columns * TILE_M, column = tile % columns * TILE_N;
        for (int step = 0; step < steps; ++step) {
          const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          tma_load(a, &map_a, full + 8 * stage, step * TILE_K, row);
#pragma unroll
          for (int i = 0; i < TILE_N / 64; ++i)
            tma_load(b + i * BOX_BYTES, &map_b, full + 8 * stage, column + i * 64, step * TILE_K);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
      }
    }
  } else { // consumers
    registers_take<232>();
    const int consumer = warpgroup - 1;
    const bool leader = threadIdx.x % 128 == 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int row = tile / columns * TILE_M, column = tile % columns * TILE_N;
      float sums[TILE_N / 2];
      int previous = 0;
      for (int step = 0; step < steps; ++step) {
        const uint32_t a = ring + stage * STAGE_BYTES + consumer * 64 * 128, b = ring + stage * STAGE_BYTES + A_BYTES;
        barrier_wait(full + 8 * stage, phase);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < TILE_K / 16; ++i) wgmma(sums, descriptor_a(a, i), descriptor_b(b, i), step + i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (leader && step > 0) barrier_arrive(empty + 8 * previous);
        previous = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      wgmma_wait<0>();
      if (leader) barrier_arrive(empty + 8 * previous);
      accumulators_ready(sums);
#pragma unroll
      for (int i = 0; i < BOXES; ++i) {
        const uint32_t box = boxes + (consumer * STORE_BOXES + i % STORE_BOXES) * BOX_BYTES;
        if (leader) tma_store_wait_read<STORE_BOXES - 1>();
        warpgroup_sync(warpgroup);
        store_box(sums, i * 32, box);
        async_proxy_fence();
        warpgroup_sync(warpgroup);
        if (leader) {
          tma_store(&map_c, box, column + i * 64, row + consumer * 64);
          tma_store_commit();
        }
      }
    }
    if (leader) tma_store_wait_read<0>();
  }
}
