// A GEMM for few tiles: a tile per cluster, whose blocks take an equal part of K each and add up through each other's shared memory,
// as in h10, but with stream_k's tiles, in either order of A and of B, and in as many parts as the launch says (the cluster's size).
//
// stream_k cuts K, too, but its units hand over their sums through L2: 96 units of 128 x 192 write and read 19 MB. Here a block keeps
// its sums where the ring was. After cluster_sync it adds and stores an equal part of the tile's rows, reading the other blocks'.
//
//   A_MN, B_MN, B_BOX, CONSUMERS, CONSUMER_M, TILE_N, STAGES, DEPTH, GROUP   as in stream_k
//   CLUSTER_M, CLUSTER_N   blocks that compute the same part of K of neighbouring tiles: those one above the other share B, those
//                  side by side share A. A cluster has so many for each part: the blocks of a part follow each other
//   C_TRANSPOSED   1: element (row, column) is stored at (column, row) of a matrix whose rows have m elements: with A and B in each
//                  other's place a tile is TILE_N rows of C by TILE_M columns, which suits other sizes
//
// Protocol: stream_k's. A block's ring is its own again once it has multiplied its last stage: all that others load there it has
// waited for. The last wait keeps every block there until its sums have been read.
#include "chunk.cuh"
#include "ring.cuh"
#include "work.cuh"

constexpr int CONSUMER_ROWS = 64 * CONSUMER_M, TILE_M = CONSUMERS * CONSUMER_ROWS;
constexpr int ADDING = 128 * CONSUMERS, THREADS = 128 + ADDING;
constexpr int SHARING = CLUSTER_M * CLUSTER_N; // blocks of a part of K
constexpr int B_COLUMNS = B_MN ? ceil_div(TILE_N, B_BOX) * B_BOX : TILE_N; // the last box may be cut
constexpr int A_BYTES = TILE_M * TILE_K * 2, BOTH_BYTES = A_BYTES + TILE_K * B_COLUMNS * 2, STAGE_BYTES = DEPTH * BOTH_BYTES;
constexpr int COUNT = TILE_N / 2;   // accumulators of a thread for 64 rows
constexpr int ROWS = C_TRANSPOSED ? TILE_N : TILE_M, COLUMNS = C_TRANSPOSED ? TILE_M : TILE_N; // of the sums, as they are stored
constexpr int PITCH = COLUMNS + (C_TRANSPOSED ? 4 : 8); // fp32 of a row of sums: what a warp writes at once lies in different banks
constexpr int CHUNKS = COLUMNS / CHUNK, BATCH = 4;
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 8 * STAGE_BARRIERS);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 16 == 0 && TILE_N <= 256 && CONSUMERS <= 3 && SHARING <= 4);
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448);
static_assert(ROWS * PITCH * 4 <= STAGES * STAGE_BYTES, "the sums take the stages' place");

__device__ __forceinline__ void put(uint32_t to, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(v) : "memory");
}
__device__ __forceinline__ void put_two(uint32_t to, float v, float next) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(v), "f"(next) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    split_k(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t stages = kept(shared_address(memory));
  const Ring ring = ring_at(stages, stages + STAGES * STAGE_BYTES);
  const int parts = cluster_size() / SHARING, part = cluster_rank() / SHARING, steps = ceil_div(k, STAGE_K);
  const uint32_t sharer = cluster_rank() % SHARING, first_sharer = part * SHARING;
  const int begin = steps * part / parts, end = steps * (part + 1) / parts;
  const Place at = place<TILE_M>(blockIdx.x / (parts * SHARING), m, n, sharer);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    begin_ring(&map_a, &map_b, ring, CONSUMERS);
    barrier_init_fence();
  }
  if constexpr (SHARING > 1) cluster_start();
  else __syncthreads();

  if (warpgroup == 0) { // producer
    registers_give<LOADER_REGISTERS>();
    const auto each_step = [&](auto visit) {
      for (int step = begin; step < end; ++step) visit(at, step * STAGE_K);
    };
    produce<TILE_M, B_COLUMNS>(ring, &map_a, &map_b, first_sharer, sharer % CLUSTER_M, sharer / CLUSTER_M, m, n, each_step);
    cluster_sync();
    cluster_arrive();
  } else { // consumers
    registers_take<REGISTERS>();
    const int consumer = CONSUMERS > 1 ? warpgroup - 1 : 0, thread = threadIdx.x % 128;
    const uint32_t released = released_by(ring, first_sharer, sharer % CLUSTER_M, sharer / CLUSTER_M);
    float sums[CONSUMER_M][COUNT];
    const uint64_t first_a = descriptor_of<A_MN>(stages + bytes_to<A_MN>(consumer * CONSUMER_ROWS), 0);
    const uint64_t first_b = descriptor_of<B_MN, B_BOX>(stages + A_BYTES, 0);
    int stage = 0;
    uint32_t phase = 0;
    bool full_yet = false; // the next stage
    for (int step = begin; step < end; ++step) {
      const uint64_t a = uniform(further(first_a, stage * STAGE_BYTES)), b = uniform(further(first_b, stage * STAGE_BYTES));
      if (!full_yet) barrier_wait(ring.full + 8 * stage, phase);
      multiply_stage<A_MN, B_MN, BOTH_BYTES, K16_BYTES<B_MN, B_BOX>>(sums, a, b, step > begin);
      if (++stage == STAGES) stage = 0, phase ^= 1;
      full_yet = barrier_test(ring.full + 8 * stage, phase);
      wgmma_wait<1>();
      if (step > begin) release(released, stage_before(stage, 2));
    }
    wgmma_wait<0>();
    if (end > begin) release(released, stage_before(stage, 1));
#pragma unroll
    for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
    asm volatile("bar.sync 1, %0;" ::"n"(ADDING) : "memory"); // all consumers have multiplied their last stage
#pragma unroll
    for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
      for (int i = 0; i < COUNT; i += 2) {
        const int y = consumer * CONSUMER_ROWS + j * 64 + sum_row(thread, i), x = sum_column(thread, i);
        if constexpr (C_TRANSPOSED) {
          put(stages + (x * PITCH + y) * 4, sums[j][i]);
          put(stages + ((x + 1) * PITCH + y) * 4, sums[j][i + 1]);
        } else {
          put_two(stages + (y * PITCH + x) * 4, sums[j][i], sums[j][i + 1]);
        }
      }
    cluster_sync();

    // This block's rows, a chunk a thread at a time, added in the order of blocks: the same sum in every run.
    const int first = ROWS * part / parts, count = (ROWS * (part + 1) / parts - first) * CHUNKS;
    const int row = C_TRANSPOSED ? at.column : at.row, column = C_TRANSPOSED ? at.row : at.column;
    const int rows = C_TRANSPOSED ? n : m, columns = C_TRANSPOSED ? m : n; // of C
    for (int base = threadIdx.x - 128; base < count; base += ADDING * BATCH) {
      float4 added[BATCH] = {};
      for (int of = 0; of < parts; ++of) {
        float4 v[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
          const int chunk = min(base + i * ADDING, count - 1);
          v[i] = peek_four(stages + ((first + chunk / CHUNKS) * PITCH + chunk % CHUNKS * CHUNK) * 4, of * SHARING + sharer);
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) add(added[i], v[i]);
      }
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        const int chunk = base + i * ADDING, y = row + first + chunk / CHUNKS, x = column + chunk % CHUNKS * CHUNK;
        if (chunk < count && y < rows && x < columns) store_chunk(added[i], c, y, x, columns);
      }
    }
    cluster_arrive();
  }
  cluster_wait(); // all sums have been read
}
