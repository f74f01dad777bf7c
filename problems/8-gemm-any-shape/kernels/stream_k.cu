// A GEMM for many shapes: h7's pipeline, for either order of A and of B, with the K of the last tiles spread over all blocks.
//
// Waves: 4608 x 4608 has 324 clusters of 128 x 512 for 66 pairs of multiprocessors, 4.9 waves. What is left over after whole waves
// is cut along K into equal ranges (work.cuh). The units that share a tile write their sums to a workspace, in fp32; the last to
// arrive, by an atomic counter, adds all of them, always in the same order, and stores the tile. Nobody waits for anybody. The
// same kernel is split-K where all tiles are shared by several units. Without counters it leaves the sums to add_parts.
//
//   A_MN, B_MN     1: the operand lies with rows of k (A transposed; B as in NN). 0: its rows run along k
//   TMA_STORE      1: rows of C begin at multiples of 16 bytes. 0: C is stored from shared memory, element by element
//   STORE_COLUMNS  columns of a tile in a box that TMA stores. 64, or, in tiles of 80, 112, 144, 176 or 208 columns, the half of them
//   C_TRANSPOSED   1: as in split_k; needs TMA_STORE. A box is STORE_COLUMNS rows of C by 64 columns
//   CLUSTER_M, CLUSTER_N   up to 8 blocks: those one above the other share B, those side by side share A
//   CONSUMERS, CONSUMER_M, TILE_N, STAGES, GROUP, STORE_BOXES   as in h7
//
// Protocol: h7's. `empty` of a block counts the consumers of all blocks that its loads reach: those above or below it and those
// beside it, and itself.
#include "tiles.cuh"
#include "work.cuh"

constexpr int CONSUMER_ROWS = 64 * CONSUMER_M, TILE_M = CONSUMERS * CONSUMER_ROWS;
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N, PEERS = CLUSTER_M + CLUSTER_N - 1, THREADS = 128 * (1 + CONSUMERS);
constexpr int B_COLUMNS = B_MN ? ceil_div(TILE_N, 64) * 64 : TILE_N; // boxes of 64 columns: the last may be cut
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * B_COLUMNS * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int ACROSS = ceil_div(TILE_N, STORE_COLUMNS), BOXES = CONSUMER_M * ACROSS; // of a consumer's part of C
constexpr int STORED_BYTES = 64 * STORE_COLUMNS * 2;                                 // of a box
constexpr int COUNT = TILE_N / 2;                                                    // accumulators of a thread for 64 rows
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * (STORE_BOXES * STORED_BYTES + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 16 == 0 && TILE_N <= 256 && CONSUMERS <= 3 && CLUSTER <= 8);
static_assert(TMA_STORE || (TILE_N % 32 == 0 && !C_TRANSPOSED));
static_assert(BOXES % STORE_BOXES == 0 && STAGES >= 2 && SHARED_BYTES <= 232448);
constexpr int IN_FLIGHT = STAGES > 6 ? 2 : 1; // stages that a consumer multiplies or has begun to
constexpr bool LEAVES_PARTS = !C_TRANSPOSED && CONSUMER_M * COUNT <= 128; // with more accumulators the addresses spill

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    stream_k(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             const __grid_constant__ CUtensorMap map_c, element* c, float* parts, int* counters, int m, int n, int k,
             int spread) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = kept(shared_address(memory));
  const uint32_t boxes = ring + STAGES * STAGE_BYTES;
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * STORED_BYTES, empty = full + STAGES * 8, verdicts = empty + STAGES * 8;
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int unit = blockIdx.x / CLUSTER, units = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const uint32_t below = rank % CLUSTER_M, beside = rank / CLUSTER_M;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    prepare_ring(&map_a, &map_b, full, empty, CONSUMERS * PEERS);
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
  else __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    if constexpr (MOVE_REGISTERS) registers_give<LOADER_REGISTERS>();
    if (elected_of_first()) {
      uint16_t share_a = 0, share_b = 0; // the ranks of the same row, of the same column
      for (int i = 0; i < CLUSTER_N; ++i) share_a |= 1u << (below + CLUSTER_M * i);
      for (int i = 0; i < CLUSTER_M; ++i) share_b |= 1u << (i + CLUSTER_M * beside);
      bool backwards = false;
      wait_for_previous();
      Walk walk(tiles, spread, steps, unit, units);
      for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
        const Place at = place<TILE_M>(piece.tile, m, n, rank);
        for (int step = piece.begin; step < piece.end; ++step) {
          const int k0 = (backwards ? piece.end - 1 - (step - piece.begin) : step) * TILE_K;
          const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          load_part<A_MN, TILE_M, CLUSTER_N>(a, &map_a, full + 8 * stage, at.row, k0, beside, share_a);
          load_part<B_MN, B_COLUMNS, CLUSTER_M>(b, &map_b, full + 8 * stage, at.column, k0, below, share_b);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        backwards = !backwards;
      }
    }
  } else { // consumers
    if constexpr (MOVE_REGISTERS) registers_take<REGISTERS>();
    const int consumer = CONSUMERS > 1 ? warpgroup - 1 : 0, thread = threadIdx.x % 128;
    const bool leader = thread == 0;
    const bool releases = thread < CLUSTER && (thread % CLUSTER_M == below || thread / CLUSTER_M == beside);
    const auto release = [&](int which) {
      if constexpr (CLUSTER > 1) barrier_arrive_at(empty + 8 * which, thread);
      else barrier_arrive(empty + 8 * which);
    };
    const uint64_t first_a = descriptor_of<A_MN>(ring + bytes_to<A_MN>(consumer * CONSUMER_ROWS), 0);
    const uint64_t first_b = descriptor_of<B_MN>(ring + A_BYTES, 0);
    bool full_yet = false; // the next stage
    Walk walk(tiles, spread, steps, unit, units);
    for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
      float sums[CONSUMER_M][COUNT];
      for (int step = piece.begin; step < piece.end; ++step) {
        if (!full_yet) barrier_wait(full + 8 * stage, phase);
        multiply_stage<A_MN, B_MN>(sums, further(first_a, stage * STAGE_BYTES), further(first_b, stage * STAGE_BYTES), step > piece.begin);
        if (++stage == STAGES) stage = 0, phase ^= 1;
        full_yet = barrier_test(full + 8 * stage, phase);
        wgmma_wait<IN_FLIGHT>();
        if (step - piece.begin >= IN_FLIGHT && releases) release(stage_before(stage, IN_FLIGHT + 1));
      }
      wgmma_wait<0>();
      if (releases)
        for (int i = min(IN_FLIGHT, piece.end - piece.begin); i > 0; --i) release(stage_before(stage, i));
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);

      if (piece.end - piece.begin < steps) { // a shared tile
        const int tile = piece.tile - (tiles - spread);
        const Sharers sharers = sharers_of(spread, steps, tile, units);
        if (LEAVES_PARTS && counters == nullptr) {
          const int rows = ceil_div(m, TILE_M * CLUSTER_M) * TILE_M * CLUSTER_M;
          const int columns = ceil_div(n, TILE_N * CLUSTER_N) * TILE_N * CLUSTER_N;
          const Place at = place<TILE_M>(piece.tile, m, n, rank);
          float* to = parts + apart_index(unit - sharers.first, at.row + consumer * CONSUMER_ROWS, at.column, rows, columns);
#pragma unroll
          for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
            for (int i = 0; i < COUNT; i += 2)
              __stcg(reinterpret_cast<float2*>(to + (j * 64 + sum_row(thread, i)) * columns + sum_column(thread, i)),
                     make_float2(sums[j][i], sums[j][i + 1]));
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
#pragma unroll
        for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
          for (int i = 0; i < COUNT; ++i) sums[j][i] = 0.0f;
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
#pragma unroll
      for (int i = 0; i < BOXES; ++i) {
        const int j = i / ACROSS, across = i % ACROSS;
        const bool half = !C_TRANSPOSED && TILE_N - across * STORE_COLUMNS < STORE_COLUMNS; // TMA would write the neighbour's columns
        const uint32_t box = boxes + (consumer * STORE_BOXES + i % STORE_BOXES) * STORED_BYTES;
        const int x = at.column + across * STORE_COLUMNS, y = at.row + consumer * CONSUMER_ROWS + j * 64, first = across * STORE_COLUMNS / 2;
        if (TMA_STORE && leader) tma_store_wait_read<STORE_BOXES - 1>();
        warpgroup_sync(warpgroup);
        if constexpr (C_TRANSPOSED) store_transposed<STORE_COLUMNS>(sums[j], first, box);
        else if constexpr (STORE_COLUMNS != 64) store_plain<STORE_COLUMNS>(sums[j], first, box);
        else if (half) store_half_box(sums[j], first, box);
        else store_box(sums[j], first, box);
        if constexpr (TMA_STORE) async_proxy_fence();
        warpgroup_sync(warpgroup);
        if (half) copy_box<1>(box, c, y, x, m, n);
        else if constexpr (!TMA_STORE) copy_box<2>(box, c, y, x, m, n);
        else if (leader) tma_store(&map_c, box, C_TRANSPOSED ? y : x, C_TRANSPOSED ? x : y);
        if (TMA_STORE && leader) tma_store_commit(); // a group for each box, if an empty one
      }
    }
    if (TMA_STORE && leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
}
