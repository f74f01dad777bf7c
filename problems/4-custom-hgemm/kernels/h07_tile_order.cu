// h7: the order of tiles (rasterization), and all tile parameters as macros. In row-major order the blocks that run together read few
// rows of A but all columns of B, from DRAM once they exceed L2. In groups of GROUP rows they cover a near square
// (grouped_tile in layout.cuh). Every other tile of a block traverses K in reverse order: it begins with the part still in L2 of the
// rows or columns that it shares with the tile before. No more blocks are launched than the number of waves needs: with 128
// instead of 132, 8192 x 8192 takes 16 waves as well, each is a group of 8 by 8 clusters, and none of them ends alone.
//
// No tile is best for every shape: a large one reads least for a FLOP, but 1024 x 1024 has 32 tiles of 128 x 256 for 132
// multiprocessors. steps.py lists the configurations (CANDIDATES) among which a dispatcher chooses.
//   CONSUMERS    warpgroups that multiply, each 64 * CONSUMER_M rows by TILE_N columns
//   TILE_N       64, 128, 192 or 256: the n of wgmma
//   CLUSTER_M    2: two blocks one above the other share B's columns; CLUSTER_N 2: side by side, sharing A's rows
//   BLOCKS_PER_SM  2: two smaller blocks on a multiprocessor; while one writes C the other multiplies
//
// Protocol: h6's. `empty` counts every consumer of the cluster, `full` the bytes of a whole stage, from either block's TMA.
#include "hopper.cuh"

#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef CONSUMER_M
#define CONSUMER_M 1
#endif
#ifndef TILE_N
#define TILE_N 256
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 2
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1
#endif
#ifndef GROUP
#define GROUP 8 // rows of clusters
#endif
#ifndef STORE_BOXES
#define STORE_BOXES 2
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1
#endif

constexpr int CONSUMER_ROWS = 64 * CONSUMER_M, TILE_M = CONSUMERS * CONSUMER_ROWS;
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int A_ROWS = TILE_M / CLUSTER_N;             // what one block of the cluster loads
constexpr int B_BOXES = TILE_N / 64 / CLUSTER_M;
constexpr int BOXES = CONSUMER_M * TILE_N / 64;        // of a consumer's part of C
constexpr int AT_ONCE = STORE_BOXES == BOXES ? BOXES : 1; // boxes between two barriers: all, if they fit
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * STORE_BOXES * BOX_BYTES;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 64 == 0 && TILE_N <= 256, "B is loaded in boxes of 64 columns; wgmma takes at most 256");
static_assert(CONSUMERS == 1 || CONSUMERS == 2, "three would leave 128 registers at launch: less than a 64 x 256 wgmma needs");
static_assert(CLUSTER == 1 || CLUSTER == 2, "clusters of 2 fill every GPC; in larger ones all blocks would not be peers");
static_assert(A_ROWS % 8 == 0 && A_ROWS <= 256, "parts of A begin with a swizzle atom; a TMA box has at most 256 rows");
static_assert(B_BOXES * CLUSTER_M * 64 == TILE_N, "each block of the cluster loads an equal part of B");
static_assert(STAGES >= 2 && GROUP >= 1);
static_assert(BOXES % STORE_BOXES == 0, "each tile begins with the first box");
static_assert(CONSUMERS * BLOCKS_PER_SM <= 2, "see the registers below");
static_assert(BLOCKS_PER_SM * (SHARED_BYTES + 1024) <= 233472, "shared memory of a multiprocessor");

// Registers a thread of the producer and of a consumer after setmaxnreg. The sum over the block's warpgroups may not exceed
// what they were launched with: 65536 / (BLOCKS_PER_SM * THREADS), rounded down to 8.
constexpr bool MOVE_REGISTERS = CONSUMERS * BLOCKS_PER_SM > 1;
constexpr int LAUNCHED = 65536 / (BLOCKS_PER_SM * THREADS) / 8 * 8;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 216;
static_assert(!MOVE_REGISTERS || PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= LAUNCHED * (1 + CONSUMERS),
              "setmaxnreg would wait for registers that never come free");

struct Place {
  int row, column; // of a block's tile, in elements
};
__device__ __forceinline__ Place place(int tile, int m, int n, uint32_t rank) {
  const Tile t = grouped_tile(tile, ceil_div(m, TILE_M * CLUSTER_M), ceil_div(n, TILE_N * CLUSTER_N), GROUP);
  const int below = rank % CLUSTER_M, beside = rank / CLUSTER_M;
  return Place{(t.row * CLUSTER_M + below) * TILE_M, (t.column * CLUSTER_N + beside) * TILE_N};
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, BLOCKS_PER_SM)
    h7_tile_order(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                  const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t boxes = ring + STAGES * STAGE_BYTES;
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8;
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, CONSUMERS * CLUSTER);
    }
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
  else __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    if constexpr (MOVE_REGISTERS) registers_give<PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
      // In a cluster, which part of A and of B this block loads, for itself and its peer.
      const int part_a = CLUSTER_N > 1 ? rank * A_ROWS : 0, part_b = CLUSTER_M > 1 ? rank * B_BOXES : 0;
      bool backwards = false;
      wait_for_previous();
      for (int tile = first; tile < tiles; tile += stride) {
        const Place c = place(tile, m, n, rank);
        for (int step = 0; step < steps; ++step) {
          const int k0 = (backwards ? steps - 1 - step : step) * TILE_K;
          const uint32_t a = ring + stage * STAGE_BYTES + part_a * 128;
          const uint32_t b = ring + stage * STAGE_BYTES + A_BYTES + part_b * BOX_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          if constexpr (CLUSTER_N > 1) tma_load_multicast(a, &map_a, full + 8 * stage, k0, c.row + part_a, 3);
          else tma_load(a, &map_a, full + 8 * stage, k0, c.row);
#pragma unroll
          for (int i = 0; i < B_BOXES; ++i) {
            const int x = c.column + (part_b + i) * 64;
            if constexpr (CLUSTER_M > 1) tma_load_multicast(b + i * BOX_BYTES, &map_b, full + 8 * stage, x, k0, 3);
            else tma_load(b + i * BOX_BYTES, &map_b, full + 8 * stage, x, k0);
          }
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        backwards = !backwards;
      }
    }
  } else { // consumers
    if constexpr (MOVE_REGISTERS) registers_take<CONSUMER_REGISTERS>();
    const int consumer = warpgroup - 1;
    const bool leader = threadIdx.x % 128 == 0;
    const bool releases = threadIdx.x % 128 < CLUSTER; // a thread for each block
    const auto release = [&](int which) {
      if constexpr (CLUSTER > 1) barrier_arrive_at(empty + 8 * which, threadIdx.x % 128);
      else barrier_arrive(empty + 8 * which);
    };
    for (int tile = first; tile < tiles; tile += stride) {
      float sums[CONSUMER_M][TILE_N / 2];
      int previous = 0;
      for (int step = 0; step < steps; ++step) {
        const uint32_t a = ring + stage * STAGE_BYTES + consumer * CONSUMER_ROWS * 128;
        const uint32_t b = ring + stage * STAGE_BYTES + A_BYTES;
        barrier_wait(full + 8 * stage, phase);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < TILE_K / 16; ++i)
#pragma unroll
          for (int j = 0; j < CONSUMER_M; ++j)
            wgmma(sums[j], descriptor_a(a + j * 64 * 128, i), descriptor_b(b, i), step + i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (step > 0 && releases) release(previous);
        previous = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      wgmma_wait<0>();
      if (releases) release(previous);
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
      const Place c = place(tile, m, n, rank);
#pragma unroll
      for (int i = 0; i < BOXES; ++i) {
        const int j = i / (TILE_N / 64), across = i % (TILE_N / 64);
        const uint32_t box = boxes + (consumer * STORE_BOXES + i % STORE_BOXES) * BOX_BYTES;
        if (i % AT_ONCE == 0) {
          if (leader) tma_store_wait_read<STORE_BOXES - AT_ONCE>();
          warpgroup_sync(warpgroup);
        }
        store_box(sums[j], across * 32, box);
        if (i % AT_ONCE < AT_ONCE - 1) continue;
        async_proxy_fence();
        warpgroup_sync(warpgroup);
        if (leader) {
#pragma unroll
          for (int back = AT_ONCE - 1; back >= 0; --back) {
            const int of = i - back, x = c.column + of % (TILE_N / 64) * 64;
            const int y = c.row + consumer * CONSUMER_ROWS + of / (TILE_N / 64) * 64;
            tma_store(&map_c, box - back * BOX_BYTES, x, y);
          }
          tma_store_commit();
        }
      }
    }
    if (leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
}
