// h8's ping-pong consumers for either order of A and of B: one consumer stores its tile while the other multiplies the next.
// For many tiles with short K, where the ends of tiles count.
//
// Arguments and macros are stream_k's; a consumer computes whole tiles of 64 * CONSUMER_M rows, and no tile's K is spread.
//
// Protocol: h8's, with stream_k's ring.
#include "ring.cuh"
#include "store.cuh"

constexpr int TILE_M = 64 * CONSUMER_M, CLUSTER = CLUSTER_M * CLUSTER_N, THREADS = 128 * (1 + CONSUMERS);
constexpr int B_COLUMNS = B_MN ? ceil_div(TILE_N, B_BOX) * B_BOX : TILE_N; // the last box may be cut
constexpr int A_BYTES = TILE_M * TILE_K * 2, STAGE_BYTES = A_BYTES + TILE_K * B_COLUMNS * 2;
constexpr int COUNT = TILE_N / 2; // accumulators of a thread for 64 rows
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 8 * STAGE_BARRIERS) + CONSUMERS * (STORE_BOXES * STORED_BYTES + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(CONSUMERS == 2 && TILE_N % 16 == 0 && TILE_N <= 256);
static_assert(CONSUMER_M * TILE_N <= 384, "a consumer's sums have to fit in its registers");
static_assert(DEPTH == 1);
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448);

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    ping_pong(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_c, element* c, float* parts, int* counters, int m, int n, int k,
              int spread) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t stages = kept(shared_address(memory)), boxes = stages + STAGES * STAGE_BYTES;
  const uint32_t turn = boxes + CONSUMERS * STORE_BOXES * STORED_BYTES;
  const Ring ring = ring_at(stages, turn + 8 * CONSUMERS);
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int unit = blockIdx.x / CLUSTER, units = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    begin_ring(&map_a, &map_b, ring, 1);
    for (int i = 0; i < CONSUMERS; ++i) barrier_init(turn + 8 * i, 1);
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_start();
  else __syncthreads();

  if (warpgroup == 0) { // producer
    registers_give<40>();
    const auto each_step = [&](auto visit) {
      bool backwards = false;
      for (int tile = unit; tile < tiles; tile += units) {
        const Place at = place<TILE_M>(tile, m, n, rank);
        for (int step = 0; step < steps; ++step) visit(at, (backwards ? steps - 1 - step : step) * TILE_K);
        backwards = !backwards;
      }
    };
    produce<TILE_M, B_COLUMNS>(ring, &map_a, &map_b, 0, rank % CLUSTER_M, rank / CLUSTER_M, m, n, each_step);
  } else { // consumers
    registers_take<232>();
    const int consumer = warpgroup - 1, thread = threadIdx.x % 128;
    const bool leader = thread == 0;
    const uint32_t released = released_by(ring, 0, rank % CLUSTER_M, rank / CLUSTER_M);
    int stage = 0;
    uint32_t phase = 0;
    const auto pass_over = [&] { // skip the stages of a tile
      stage += steps % STAGES;
      phase ^= steps / STAGES & 1;
      if (stage >= STAGES) stage -= STAGES, phase ^= 1;
    };
    const uint64_t first_a = descriptor_of<A_MN>(stages, 0), first_b = descriptor_of<B_MN, B_BOX>(stages + A_BYTES, 0);
    uint32_t others = consumer ^ 1; // parity of the number of tiles that the other must have begun: 0 for the first of consumer 0
    if (consumer > 0) pass_over();
    for (int tile = unit + consumer * units; tile < tiles; tile += CONSUMERS * units) {
      float sums[CONSUMER_M][COUNT];
      bool full_yet = false; // the next stage
      barrier_wait(turn + 8 * consumer, others);
      others ^= 1;
      for (int step = 0; step < steps; ++step) {
        const uint64_t a = uniform(further(first_a, stage * STAGE_BYTES)), b = uniform(further(first_b, stage * STAGE_BYTES));
        if (!full_yet) barrier_wait(ring.full + 8 * stage, phase);
        multiply_stage<A_MN, B_MN, 0, K16_BYTES<B_MN, B_BOX>>(sums, a, b, step > 0);
        if (++stage == STAGES) stage = 0, phase ^= 1;
        full_yet = barrier_test(ring.full + 8 * stage, phase);
        wgmma_wait<1>();
        if (step > 0) release(released, stage_before(stage, 2));
      }
      if (leader) barrier_arrive(turn + 8 * (consumer ^ 1));
      wgmma_wait<0>();
      release(released, stage_before(stage, 1));
      pass_over();
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
      const Place at = place<TILE_M>(tile, m, n, rank);
      store_sums(sums, boxes + consumer * STORE_BOXES * STORED_BYTES, warpgroup, &map_c, c, at.row, at.column, m, n);
    }
    if (TMA_STORE && leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync(); // releases have come
}
