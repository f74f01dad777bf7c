// h6: two blocks, on neighbouring multiprocessors, as a cluster: they compute tiles one above the other, which need the same
// columns of B. Each loads half of B's boxes and TMA delivers them to both: the two read 64 KB instead of 96 KB from L2 for a
// step. Shared memory is filled as before; what is saved is L2's bandwidth and the energy of moving the bytes.
//
// Protocol, on top of h5's:
//   full   1 arrival (this block's producer, announcing all bytes of the stage) + the bytes, whichever block's TMA sends
//          them. Bytes from the peer may arrive before the announcement: the count goes below zero for a while, and the phase
//          cannot end before the arrival.
//   empty  one arrival from each consumer of *both* blocks: a producer writes into both blocks' stages, so both have to have
//          read them. A consumer releases a stage by arriving at its own block's barrier and at the peer's.
// The peer's bytes cannot fall into the wrong phase of `full`: the peer sends those for the next round only after this block's
// consumers released the stage, thus after they saw this round's phase end.
// Both blocks walk the same number of tiles (the tile of the lower block may lie below C: TMA reads zeros and stores nothing).
// Before the first remote access all barriers are initialised, and no block leaves before the other is done with its
// barriers: cluster_sync at both ends.
#include "hopper.cuh"

#ifndef STAGES
#define STAGES 4
#endif
#ifndef STORE_BOXES
#define STORE_BOXES 2
#endif
constexpr int TILE_M = 128, TILE_N = 256, CONSUMERS = 2, CLUSTER = 2, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BOXES = TILE_N / 64; // of a consumer's part of C
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * STORE_BOXES * BOX_BYTES;
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448, "the ring and C's boxes must fit in shared memory");
static_assert(BOXES % CLUSTER == 0, "each block of the cluster loads an equal part of B");
static_assert(BOXES % STORE_BOXES == 0, "each tile begins with the first box");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    h6_multicast(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t boxes = ring + STAGES * STAGE_BYTES; // everything that TMA touches first: it has to be 1024-aligned
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8;
  const int columns = ceil_div(n, TILE_N), tiles = ceil_div(m, TILE_M * CLUSTER) * columns; // a tile: the cluster's
  const int rank = cluster_rank();
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // from one lane: the compiler sees that a warp agrees

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, CONSUMERS * CLUSTER);
    }
    barrier_init_fence();
  }
  cluster_sync();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    registers_give<40>();
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
        const int row = (tile / columns * CLUSTER + rank) * TILE_M, column = tile % columns * TILE_N;
        for (int step = 0; step < steps; ++step) {
          const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          tma_load(a, &map_a, full + 8 * stage, step * TILE_K, row);
#pragma unroll
          for (int j = 0; j < BOXES / CLUSTER; ++j) {
            const int i = rank * (BOXES / CLUSTER) + j;
            tma_load_multicast(b + i * BOX_BYTES, &map_b, full + 8 * stage, column + i * 64, step * TILE_K, (1 << CLUSTER) - 1);
          }
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
      }
    }
  } else { // consumers
    registers_take<232>();
    const int consumer = warpgroup - 1;
    const bool leader = threadIdx.x % 128 == 0;
    const bool releases = threadIdx.x % 128 < CLUSTER; // a thread for each block
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
      const int row = (tile / columns * CLUSTER + rank) * TILE_M, column = tile % columns * TILE_N;
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
        if (step > 0 && releases) barrier_arrive_at(empty + 8 * previous, threadIdx.x % 128);
        previous = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      wgmma_wait<0>();
      if (releases) barrier_arrive_at(empty + 8 * previous, threadIdx.x % 128);
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
  cluster_sync();
}
