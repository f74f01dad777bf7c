// A GEMM for many shapes: h7's pipeline, for either order of A and of B, with the K of the last tiles spread over all blocks.
//
// Waves: 4608 x 4608 has 324 clusters of 128 x 512 for 66 pairs of multiprocessors, 4.9 waves. The tiles beyond whole waves are cut
// along K into equal ranges (work.cuh). The units that share a tile write their sums to a workspace, in fp32; the last to
// arrive, by an atomic counter, adds all of them, always in the same order, and stores the tile. Nobody waits for anybody. The
// same kernel is split-K where all tiles are shared by several units. Without counters it leaves the sums to add_parts.
//
//   A_MN, B_MN     1: the operand lies with rows of k (A transposed; B as in NN). 0: its rows run along k
//   B_BOX          columns of a box of a B of rows of k: 64, or 32 where the last of 64 would be half empty
//   TMA_STORE      1: rows of C begin at multiples of 16 bytes. 0: C is stored from shared memory, element by element
//   STORE_COLUMNS  columns of a tile in a box that TMA stores. 64, or, in tiles of an odd number of 16 columns, the half of them
//   C_TRANSPOSED   1: as in split_k; needs TMA_STORE. A box is STORE_COLUMNS rows of C by 64 columns
//   CLUSTER_M, CLUSTER_N   up to 8 blocks: those one above the other share B, those side by side share A
//   CONSUMERS, CONSUMER_M, TILE_N, STAGES, GROUP, STORE_BOXES   as in h7
//   DEPTH          of a stage, in 64 k
//   LOADS, PRODUCTS  0: after the first of each stage none are loaded, or none are made, so that C is wrong, to time the others alone
//                    (limits.py)
//
// Protocol: h7's, for clusters of up to eight blocks (ring.cuh).
#include "ring.cuh"
#include "store.cuh"
#include "work.cuh"

#ifndef PRODUCTS
#define PRODUCTS 1
#endif

constexpr int CONSUMER_ROWS = 64 * CONSUMER_M, TILE_M = CONSUMERS * CONSUMER_ROWS;
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N, THREADS = 128 * (1 + CONSUMERS);
constexpr int B_COLUMNS = B_MN ? ceil_div(TILE_N, B_BOX) * B_BOX : TILE_N; // the last box may be cut
constexpr int A_BYTES = TILE_M * TILE_K * 2, BOTH_BYTES = A_BYTES + TILE_K * B_COLUMNS * 2, STAGE_BYTES = DEPTH * BOTH_BYTES;
constexpr int COUNT = TILE_N / 2;                                                    // accumulators of a thread for 64 rows
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 8 * STAGE_BARRIERS) + CONSUMERS * (STORE_BOXES * STORED_BYTES + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 16 == 0 && TILE_N <= 256 && CONSUMERS <= 3 && CLUSTER <= 8);
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448);
constexpr int IN_FLIGHT = CLUSTER == 1 && STAGES > 6 ? 2 : 1; // stages whose products a consumer has begun when it waits for those before
constexpr bool FEW_STAGES = STAGES <= 3; // one that waits, multiplied, until the next has come is too much
constexpr bool LEAVES_PARTS = !C_TRANSPOSED;

__device__ __forceinline__ void zero(float (&sums)[CONSUMER_M][COUNT]) {
#pragma unroll
  for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sums[j][i] = 0.0f;
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    stream_k(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             const __grid_constant__ CUtensorMap map_c, element* c, float* parts, int* counters, int m, int n, int k,
             int spread) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t stages = kept(shared_address(memory));
  const uint32_t boxes = stages + STAGES * STAGE_BYTES, verdicts = boxes + CONSUMERS * STORE_BOXES * STORED_BYTES;
  const Ring ring = ring_at(stages, verdicts + 8 * CONSUMERS);
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int unit = blockIdx.x / CLUSTER, units = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = ceil_div(k, STAGE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    begin_ring(&map_a, &map_b, ring, CONSUMERS);
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_start();
  else __syncthreads();

  if (warpgroup == 0) { // producer
    registers_give<LOADER_REGISTERS>();
    const auto each_step = [&](auto visit) {
      bool backwards = false;
      Walk walk(tiles, spread, steps, unit, units);
      for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
        const Place at = place<TILE_M>(piece.tile, m, n, rank);
        for (int step = piece.begin; step < piece.end; ++step)
          visit(at, (backwards ? piece.end - 1 - (step - piece.begin) : step) * STAGE_K);
        backwards = !backwards;
      }
    };
    produce<TILE_M, B_COLUMNS>(ring, &map_a, &map_b, 0, rank % CLUSTER_M, rank / CLUSTER_M, m, n, each_step);
    if constexpr (CLUSTER > 1) cluster_arrive();
  } else { // consumers
    registers_take<REGISTERS>();
    const int consumer = CONSUMERS > 1 ? warpgroup - 1 : 0, thread = threadIdx.x % 128;
    const bool leader = thread == 0;
    const uint32_t released = released_by(ring, 0, rank % CLUSTER_M, rank / CLUSTER_M);
    const uint64_t first_a = descriptor_of<A_MN>(stages + bytes_to<A_MN>(consumer * CONSUMER_ROWS), 0);
    const uint64_t first_b = descriptor_of<B_MN, B_BOX>(stages + A_BYTES, 0);
    int stage = 0;
    uint32_t phase = 0;
    bool full_yet = false; // the next stage
    Walk walk(tiles, spread, steps, unit, units);
    Piece next = walk.next();
    if (CLUSTER > 1 && next.end == 0) cluster_arrive();
    while (next.end > 0) {
      const Piece piece = next;
      next = walk.next();
      float sums[CONSUMER_M][COUNT];
      if constexpr (!PRODUCTS) zero(sums);
      bool held = false; // with few stages: the one before, whose products may not have ended
      for (int step = piece.begin; step < piece.end; ++step) {
        const uint64_t a = uniform(further(first_a, stage * STAGE_BYTES)), b = uniform(further(first_b, stage * STAGE_BYTES));
        if (!full_yet) {
          if (FEW_STAGES && held) {
            wgmma_wait<0>();
            release(released, stage_before(stage, 1));
            held = false;
          }
          barrier_wait(ring.full + 8 * stage, phase);
        }
        if constexpr (PRODUCTS) multiply_stage<A_MN, B_MN, BOTH_BYTES, K16_BYTES<B_MN, B_BOX>>(sums, a, b, step > piece.begin);
        if (++stage == STAGES) stage = 0, phase ^= 1;
        full_yet = barrier_test(ring.full + 8 * stage, phase);
        if constexpr (FEW_STAGES) full_yet = __all_sync(~0u, full_yet); // a warp waits for its products as one
        wgmma_wait<IN_FLIGHT>();
        if (FEW_STAGES ? held : step - piece.begin >= IN_FLIGHT) release(released, stage_before(stage, IN_FLIGHT + 1));
        held = true;
      }
      wgmma_wait<0>();
      for (int i = FEW_STAGES ? held : min(IN_FLIGHT, piece.end - piece.begin); i > 0; --i) release(released, stage_before(stage, i));
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
      if (CLUSTER > 1 && next.end == 0) cluster_arrive(); // nothing more comes from other blocks

      if (piece.end - piece.begin < steps) { // a shared tile
        const int tile = piece.tile - (tiles - spread);
        const Sharers sharers = sharers_of(spread, steps, tile, units);
        if (LEAVES_PARTS && counters == nullptr) {
          const int across = ceil_div(n, TILE_N * CLUSTER_N) * CLUSTER_N;
          const Place at = place<TILE_M>(piece.tile, m, n, rank);
          const int place_of = at.row / TILE_M * across + at.column / TILE_N;
          float4* to = reinterpret_cast<float4*>(parts) + thread +
                       apart_index(unit - sharers.first, tiles * CLUSTER, place_of, TILE_M, TILE_N, consumer * CONSUMER_M);
#pragma unroll
          for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
            for (int i = 0; i < COUNT; i += 4)
              __stcg(to + (j * COUNT + i) / 4 * 128, make_float4(sums[j][i], sums[j][i + 1], sums[j][i + 2], sums[j][i + 3]));
          continue;
        }
        const auto part_of = [&](int owner) {
          const int slot = slot_of(spread, steps, tile, owner, units);
          return reinterpret_cast<float4*>(parts) +
                 part_index(owner, slot, CLUSTER, rank, CONSUMERS, consumer) * (CONSUMER_M * COUNT / 4 * 128) + thread;
        };
        float4* mine = part_of(unit);
#pragma unroll
        for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
          for (int i = 0; i < COUNT; i += 4)
            __stcg(mine + (j * COUNT + i) / 4 * 128, make_float4(sums[j][i], sums[j][i + 1], sums[j][i + 2], sums[j][i + 3]));
        __threadfence();
        warpgroup_sync(warpgroup);
        int* counter = counters + counter_index(tile, CLUSTER, rank, CONSUMERS, consumer);
        if (leader) {
          const int before = atomicAdd(counter, 1);
          if (last_to_arrive(before, sharers)) *counter = 0; // for the next launch
          __threadfence();
          asm volatile("st.shared.s32 [%0], %1;" ::"r"(verdicts + 8 * consumer), "r"(before) : "memory");
        }
        warpgroup_sync(warpgroup);
        int before;
        asm volatile("ld.shared.s32 %0, [%1];" : "=r"(before) : "r"(verdicts + 8 * consumer) : "memory");
        if (!last_to_arrive(before, sharers)) continue;
        zero(sums);
        for (int owner = sharers.first; owner < sharers.first + sharers.count; ++owner) { // in order: the same sum in every run
          const float4* part = part_of(owner);
#pragma unroll
          for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
            for (int i = 0; i < COUNT; i += 4) {
              const float4 v = __ldcg(part + (j * COUNT + i) / 4 * 128);
              sums[j][i] += v.x, sums[j][i + 1] += v.y, sums[j][i + 2] += v.z, sums[j][i + 3] += v.w;
            }
        }
      }

      const Place at = place<TILE_M>(piece.tile, m, n, rank);
      store_sums(sums, boxes + consumer * STORE_BOXES * STORED_BYTES, warpgroup, &map_c, c, at.row + consumer * CONSUMER_ROWS, at.column,
                 m, n);
    }
    if (TMA_STORE && leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_wait(); // the block's loads reach others
}
