// A GEMM for few tiles and for operands that TMA cannot read: a tile per cluster, whose blocks take a slice of K each and add up
// through each other's shared memory, as in h10, but with the number of slices chosen at launch (the cluster's size).
//
// It computes D = X * Y of w by s. X is the wide operand, from which wgmma takes 64 rows at a time; Y the narrow one, whose 8 to
// 128 columns are wgmma's n. For C = A * B with few rows, X is the transposed B, Y the transposed A, and D is stored transposed:
// so 16 rows of A cost no more tensor-core time than 16, and the weights stream through memory once.
//
//   X_MN, Y_MN     1: the operand lies with rows of k; 0: its rows run along k
//   X_TMA, Y_TMA   1: by TMA. 0: its rows begin at any element; warpgroups load and realign it (from_any.cuh)
//   D_TRANSPOSED   1: D(w, s) is element (s, w) of C; 0: element (w, s)
//   CONSUMERS      1 or 2: a tile has 64 rows of D for each. TILE_N  columns of D in a tile
//   LOADERS        loading warpgroups, each with every LOADERS-th stage
// At launch: `groups` clusters share a tile where K is long and tiles are few; they add up through a workspace, as in stream_k.
// Tiles are `apart` rows of D from each other: by threads fewer than TILE_M can be loaded, so that tiles fill a wave evenly.
//
// Protocol: h3's within a block; `full` also takes an arrival of each loading thread where an operand does not come by TMA. Then
// all write their sums to their own shared memory, cluster_sync, and block r adds and stores the r-th part of the tile's rows of D.
// The last wait keeps every block there until its sums have been read.
#include "boxes.cuh"
#include "cluster.cuh"
#include "from_any.cuh"
#include "loads.cuh"
#include "pipeline.cuh"

constexpr int TILE_M = 64 * CONSUMERS, THREADS = 128 * (LOADERS + CONSUMERS);
constexpr int X_BYTES = TILE_M * TILE_K * 2, Y_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = X_BYTES + Y_BYTES;
constexpr int COUNT = TILE_N / 2, BATCH = 4;
constexpr bool ANY_TMA = X_TMA || Y_TMA, ALL_TMA = X_TMA && Y_TMA;
constexpr int PITCH = D_TRANSPOSED ? TILE_M + 4 : TILE_N + 8; // fp32 of a row of sums: without bank conflicts, see put
constexpr int SUM_BYTES = (D_TRANSPOSED ? TILE_N : TILE_M) * PITCH * 4;
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
constexpr int Y_BOX = TILE_N < 64 ? TILE_N : 64; // columns of a box of a Y of rows of k
static_assert(TILE_N <= 128 && (!Y_MN || TILE_N >= (Y_TMA ? 16 : 64)), "threads load boxes of 64 columns");
static_assert(SUM_BYTES <= STAGES * STAGE_BYTES, "the sums take the stages' place");
static_assert(Y_BYTES % 1024 == 0 && STAGES >= 2 && SHARED_BYTES <= 232448);
static_assert(LOADERS <= STAGES && (!ALL_TMA || LOADERS == 1));

// 64 of k of SPAN rows or columns by TMA, by one thread. `once`: no other tile reads it.
template <int MN, int SPAN>
__device__ __forceinline__ void load_boxes(uint32_t to, const CUtensorMap* map, uint32_t barrier, int along0, int k0,
                                           bool once) {
#pragma unroll
  for (int i = 0; i < (MN && SPAN > 64 ? SPAN / 64 : 1); ++i) {
    const int x = MN ? along0 + i * 64 : k0, y = MN ? k0 : along0;
    if (once) tma_load_once(to + i * BOX_BYTES, map, barrier, x, y);
    else tma_load(to + i * BOX_BYTES, map, barrier, x, y);
  }
}
__device__ __forceinline__ void put(uint32_t sums, int row, int column, float v) {
  const int place = D_TRANSPOSED ? column * PITCH + row : row * PITCH + column;
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(sums + place * 4), "f"(v) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sliced(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_y, const element* x,
           const element* y, element* c, float* parts, int* counters, int64_t pitch_x, int64_t pitch_y, int64_t pitch_c,
           int w, int s, int k, int groups, int apart) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = kept(shared_address(memory));
  const uint32_t full = ring + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
  const int slices = cluster_size(), rank = cluster_rank();
  const int rows = ceil_div(w, apart), tile = blockIdx.x / slices / groups, group = blockIdx.x / slices % groups;
  const int row = tile % rows * apart, bottom = min(w, row + apart); // of D
  const int column = tile / rows * TILE_N, right = min(s, column + TILE_N);
  const int steps = ceil_div(k, TILE_K), share = group * slices + rank, shares = groups * slices;
  const int begin = steps * share / shares, end = steps * (share + 1) / shares; // may be empty
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    if constexpr (X_TMA) prefetch_map(&map_x);
    if constexpr (Y_TMA) prefetch_map(&map_y);
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, (ALL_TMA ? 0 : 128) + (ANY_TMA ? 1 : 0));
      barrier_init(empty + 8 * i, CONSUMERS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  if (warpgroup < LOADERS) {
    if (!ALL_TMA || elected_of_first()) {
      wait_for_previous();
      const FromAny<X_MN, TILE_M> from_x(Operand{x, bottom, k, pitch_x}, row);
      const FromAny<Y_MN, Y_MN && TILE_N < 64 ? 64 : TILE_N> from_y(Operand{y, right, k, pitch_y}, column);
      int stage = warpgroup;
      uint32_t phase = 0;
      for (int step = begin + warpgroup; step < end; step += LOADERS) {
        const uint32_t to_x = ring + stage * STAGE_BYTES, to_y = to_x + X_BYTES;
        barrier_wait(empty + 8 * stage, phase ^ 1);
        if (ANY_TMA && (ALL_TMA || threadIdx.x % 128 == 0)) {
          barrier_expect(full + 8 * stage, (X_TMA ? X_BYTES : 0) + (Y_TMA ? Y_BYTES : 0));
          if constexpr (X_TMA) load_boxes<X_MN, TILE_M>(to_x, &map_x, full + 8 * stage, row, step * TILE_K, s <= TILE_N);
          if constexpr (Y_TMA) load_boxes<Y_MN, TILE_N>(to_y, &map_y, full + 8 * stage, column, step * TILE_K, false);
        }
        if constexpr (!X_TMA) from_x.load(to_x, step * TILE_K);
        if constexpr (!Y_TMA) from_y.load(to_y, step * TILE_K);
        if constexpr (!ALL_TMA) {
          async_proxy_fence();
          barrier_arrive(full + 8 * stage);
        }
        if ((stage += LOADERS) >= STAGES) stage -= STAGES, phase ^= 1;
      }
    }
  } else {
    const int consumer = warpgroup - LOADERS, lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    const uint64_t first_x = descriptor_of<X_MN>(ring + bytes_to<X_MN>(consumer * 64), 0);
    const uint64_t first_y = descriptor_of<Y_MN, Y_BOX>(ring + X_BYTES, 0);
    float sums[1][COUNT] = {};
    int stage = 0;
    uint32_t phase = 0;
    bool full_yet = false; // the next stage
    for (int step = begin; step < end; ++step) {
      const uint64_t x_at = uniform(further(first_x, stage * STAGE_BYTES)), y_at = uniform(further(first_y, stage * STAGE_BYTES));
      if (!full_yet) barrier_wait(full + 8 * stage, phase);
      multiply_stage<X_MN, Y_MN, 0, K16_BYTES<Y_MN, Y_BOX>>(sums, x_at, y_at, true);
      if (++stage == STAGES) stage = 0, phase ^= 1;
      full_yet = barrier_test(full + 8 * stage, phase);
      wgmma_wait<1>();
      if (threadIdx.x % 128 == 0 && step > begin) barrier_arrive(empty + 8 * stage_before(stage, 2));
    }
    wgmma_wait<0>();
    accumulators_ready(sums[0]);
    asm volatile("bar.sync 1, %0;" ::"n"(128 * CONSUMERS) : "memory"); // all consumers have multiplied their last stage
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      put(ring, consumer * 64 + warp * 16 + lane / 4 + i % 4 / 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2, sums[0][i]);
  }
  cluster_sync();

  // This block's rows of D, four elements a thread at a time, added in the order of blocks: the same sum in every run.
  const int part = TILE_M / slices, first = rank * part, columns = right - column, count = part * columns;
  const auto row_of = [&](int i) { return first + (D_TRANSPOSED ? i % part : i / columns); };
  const auto column_of = [&](int i) { return D_TRANSPOSED ? i / part : i % columns; };
  const auto store = [&](int i, float sum) {
    const int r = row + row_of(i), n = column + column_of(i);
    if (r < bottom) c[D_TRANSPOSED ? n * pitch_c + r : r * pitch_c + n] = to_element(sum);
  };
  const auto part_of = [&](int which) {
    return parts + (static_cast<size_t>(tile) * groups + which) * (TILE_M * TILE_N) + first * TILE_N;
  };
  for (int base = threadIdx.x; base < count; base += THREADS * BATCH) {
    float sums[BATCH] = {};
    for (int block = 0; block < slices; ++block) {
      float v[BATCH];
#pragma unroll
      for (int j = 0; j < BATCH; ++j) {
        const int i = min(base + j * THREADS, count - 1);
        v[j] = peek(ring + (D_TRANSPOSED ? column_of(i) * PITCH + row_of(i) : row_of(i) * PITCH + column_of(i)) * 4, block);
      }
#pragma unroll
      for (int j = 0; j < BATCH; ++j) sums[j] += v[j];
    }
#pragma unroll
    for (int j = 0; j < BATCH; ++j) {
      const int i = base + j * THREADS;
      if (i >= count) break;
      if (groups == 1) store(i, sums[j]);
      else __stcg(part_of(group) + i, sums[j]);
    }
  }
  cluster_arrive();
  cluster_wait(); // all sums have been read
  if (groups == 1) return;

  __shared__ int before;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    int* counter = counters + tile * slices + rank;
    before = atomicAdd(counter, 1);
    if (before == groups - 1) *counter = 0; // for the next launch
    __threadfence();
  }
  __syncthreads();
  if (before < groups - 1) return;
  for (int i = threadIdx.x; i < count; i += THREADS) {
    float sum = 0.0f;
#pragma unroll 8
    for (int which = 0; which < groups; ++which) sum += __ldcg(part_of(which) + i);
    store(i, sum);
  }
}
