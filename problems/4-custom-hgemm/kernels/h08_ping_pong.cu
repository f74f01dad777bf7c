// h8: ping-pong consumers: each computes whole tiles. Up to h7 both multiply halves of one tile and then both store them: the tensor
// cores idle meanwhile. The cost is small at K = 4096, and large at K = 768 with its 12 steps. Here one consumer
// stores its tile while the other multiplies the next. The tile of a block has to fit one consumer's registers, so it reads
// more per FLOP: a stage of 32 KB for 128 x 128, against 48 KB for 128 x 256.
//
// CONSUMER_M, TILE_N, STAGES, CLUSTER_M, CLUSTER_N, GROUP and STORE_BOXES: as in h7.
//
// Protocol: h7's, but that a stage belongs to one consumer. The producer loads the block's tiles one after the other; consumer
// i % 2 computes tile i and skips the stages of the other tiles. It begins once the other consumer has read all of its operands,
// as `turn` signals: earlier, the two could be several rounds of stages apart, and a barrier's parity tells only odd from even.
#include "hopper.cuh"

#ifndef KERNEL
#define KERNEL h8_ping_pong // h9 includes this file
#endif
#ifndef CONSUMER_M
#define CONSUMER_M 2
#endif
#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef STAGES
#define STAGES 6
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 2
#endif
#ifndef GROUP
#define GROUP 16 // rows of clusters
#endif
#ifndef STORE_BOXES
#define STORE_BOXES 2
#endif

constexpr int CONSUMERS = 2, TILE_M = 64 * CONSUMER_M, CLUSTER = CLUSTER_M * CLUSTER_N, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int A_ROWS = TILE_M / CLUSTER_N;             // what one block of the cluster loads
constexpr int B_BOXES = TILE_N / 64 / CLUSTER_M;
constexpr int BOXES = CONSUMER_M * TILE_N / 64;        // of a tile of C
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * (STORE_BOXES * BOX_BYTES + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 64 == 0 && TILE_N <= 256, "B is loaded in boxes of 64 columns; wgmma takes at most 256");
static_assert(CONSUMER_M * TILE_N <= 384, "a consumer's sums have to fit in its registers");
static_assert(CLUSTER == 1 || CLUSTER == 2, "clusters of 2 fill every GPC; in larger ones all blocks would not be peers");
static_assert(A_ROWS % 8 == 0 && A_ROWS <= 256, "parts of A begin with a swizzle atom; a TMA box has at most 256 rows");
static_assert(B_BOXES * CLUSTER_M * 64 == TILE_N, "each block of the cluster loads an equal part of B");
static_assert(STAGES >= 2 && GROUP >= 1);
static_assert(BOXES % STORE_BOXES == 0, "each tile begins with the first box");
static_assert(SHARED_BYTES <= 232448);

constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232; // of a thread, as in h3

struct Place {
  int row, column; // of a block's tile, in elements
};
__device__ __forceinline__ Place place(int tile, int m, int n, uint32_t rank) {
  const Tile t = grouped_tile(tile, ceil_div(m, TILE_M * CLUSTER_M), ceil_div(n, TILE_N * CLUSTER_N), GROUP);
  const int below = rank % CLUSTER_M, beside = rank / CLUSTER_M;
  return Place{(t.row * CLUSTER_M + below) * TILE_M, (t.column * CLUSTER_N + beside) * TILE_N};
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    KERNEL(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
           const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t boxes = ring + STAGES * STAGE_BYTES;
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8;
  const uint32_t turn = empty + STAGES * 8;
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
      barrier_init(empty + 8 * i, CLUSTER);
    }
    for (int i = 0; i < CONSUMERS; ++i) barrier_init(turn + 8 * i, 1);
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
  else __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    registers_give<PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
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
    registers_take<CONSUMER_REGISTERS>();
    const int consumer = warpgroup - 1;
    const bool leader = threadIdx.x % 128 == 0;
    const bool releases = threadIdx.x % 128 < CLUSTER; // a thread for each block
    const auto release = [&](int which) {
      if constexpr (CLUSTER > 1) barrier_arrive_at(empty + 8 * which, threadIdx.x % 128);
      else barrier_arrive(empty + 8 * which);
    };
    const auto pass_over = [&] { // skip the stages of a tile
      stage += steps % STAGES;
      phase ^= steps / STAGES & 1;
      if (stage >= STAGES) stage -= STAGES, phase ^= 1;
    };
    uint32_t others = consumer ^ 1; // parity of the number of tiles that the other must have begun: 0 for the first of consumer 0
    if (consumer > 0) pass_over();
    for (int tile = first + consumer * stride; tile < tiles; tile += CONSUMERS * stride) {
      float sums[CONSUMER_M][TILE_N / 2];
      int previous = 0;
      barrier_wait(turn + 8 * consumer, others);
      others ^= 1;
      for (int step = 0; step < steps; ++step) {
        const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
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
      if (leader) barrier_arrive(turn + 8 * (consumer ^ 1));
      wgmma_wait<0>();
      if (releases) release(previous);
      pass_over();
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
      const Place c = place(tile, m, n, rank);
#pragma unroll
      for (int i = 0; i < BOXES; ++i) {
        const int j = i / (TILE_N / 64), across = i % (TILE_N / 64);
        const uint32_t box = boxes + (consumer * STORE_BOXES + i % STORE_BOXES) * BOX_BYTES;
        if (leader) tma_store_wait_read<STORE_BOXES - 1>();
        warpgroup_sync(warpgroup);
        store_box(sums[j], across * 32, box);
        async_proxy_fence();
        warpgroup_sync(warpgroup);
        if (leader) {
          tma_store(&map_c, box, c.column + across * 64, c.row + j * 64);
          tma_store_commit();
        }
      }
    }
    if (leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
}
