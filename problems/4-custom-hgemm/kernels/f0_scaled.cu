// f0: C = scales * (A @ B) of 8-bit operands (e4m3), summed in fp32, to bf16. The tensor cores multiply 8-bit numbers at twice the
// rate of 16-bit ones, and a K step of 128 bytes holds twice the K: tiles, stages, clusters and order are h7's and h8's.
// wgmma takes 8-bit operands K-major only, so B is given as rows of n (a linear layer's weight), and both boxes lie as A's.
//
// Two rules of scaling (a number is its 8 bits times the scale):
//   BLOCKS 0: one scale for each row of A and one for each column of C. They do not depend on k: one product an element, at the end.
//   BLOCKS 1: one scale for each 1 x 128 of A and each 128 x 128 of B (DeepSeek-V3, arXiv 2412.19437, section 3.3). They change with
//     each K step, so the tensor core's sums of a step are scaled and added to others that the thread keeps ("promotion").
//     That is also more exact: Hopper's tensor cores keep about 14 bits when they add 8-bit products (same section).
//     While one consumer adds, the other's wgmma should run. But both wait for the same stage: if they issue at once, they share
//     the tensor cores, end together and add together, while the tensor cores have nothing to do.
//   ALTERNATE 1, with BLOCKS: a consumer issues a stage's wgmma only when the other's are all but done, so one adds while the other
//     multiplies.
//
//   PING_PONG    0: the consumers share a tile (h7); 1: each computes whole tiles in turn (h8). Not with BLOCKS
//   the others   as in h7
#include "hopper.cuh"

#ifndef BLOCKS
#define BLOCKS 0
#endif
#ifndef PING_PONG
#define PING_PONG 0
#endif
#ifndef ALTERNATE
#define ALTERNATE 0
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
#define GROUP 8
#endif
#ifndef STORE_BOXES
#define STORE_BOXES 2
#endif

constexpr int STEP_K = 128, ROW_BYTES = 128; // a swizzle span of 1-byte elements
constexpr int CONSUMERS = 2, CONSUMER_ROWS = 64 * CONSUMER_M, THREADS = 128 * (1 + CONSUMERS);
constexpr int TILE_M = PING_PONG ? CONSUMER_ROWS : CONSUMERS * CONSUMER_ROWS, CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int A_BYTES = TILE_M * ROW_BYTES, B_BYTES = TILE_N * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int A_ROWS = TILE_M / CLUSTER_N, B_ROWS = TILE_N / CLUSTER_M; // what one block of the cluster loads
constexpr int BOXES = CONSUMER_M * TILE_N / 64;                         // of a consumer's part of C
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * (STORE_BOXES * BOX_BYTES + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(TILE_N % 64 == 0 && TILE_N <= 256, "C is stored in boxes of 64 columns; wgmma takes at most 256");
static_assert(CONSUMER_M * TILE_N * (1 + BLOCKS) <= 384, "a consumer's sums have to fit in its registers");
static_assert(!(BLOCKS && PING_PONG), "with BLOCKS one consumer adds while the other multiplies the same tile");
static_assert(BLOCKS || !ALTERNATE, "without BLOCKS a consumer's next wgmma waits for nothing of its own");
static_assert(CLUSTER == 1 || CLUSTER == 2, "clusters of 2 fill every GPC");
static_assert(A_ROWS % 8 == 0 && A_ROWS <= 256 && B_ROWS % 8 == 0 && B_ROWS <= 256, "a part begins with a swizzle atom");
static_assert(STAGES >= 2 && GROUP >= 1 && BOXES % STORE_BOXES == 0 && SHARED_BYTES <= 232448);

constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232; // of a thread, as in h3

// d (+)= a * b of one warpgroup: 64x32 times 32xN, both K-major. The two immediates are the signs of a and b.
#define WGMMA_E4M3(N, NAMES, A, B, ACCUMULATE)                                                                     \
  "{ .reg .pred p; setp.ne.b32 p, " ACCUMULATE ", 0;\n"                                                            \
  "wgmma.mma_async.sync.aligned.m64n" N "k32.f32.e4m3.e4m3 {" NAMES "}, " A ", " B ", p, 1, 1; }"
__device__ __forceinline__ void wgmma_e4m3(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_E4M3("128", NAMES_0 "," NAMES_1, "%64", "%65", "%66")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32)
               : "l"(a), "l"(b), "r"(accumulate));
}
__device__ __forceinline__ void wgmma_e4m3(float (&d)[96], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_E4M3("192", NAMES_0 "," NAMES_1 "," NAMES_2, "%96", "%97", "%98")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64)
               : "l"(a), "l"(b), "r"(accumulate));
}
__device__ __forceinline__ void wgmma_e4m3(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_E4M3("256", NAMES_0 "," NAMES_1 "," NAMES_2 "," NAMES_3, "%128", "%129", "%130")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_32(d, 96)
               : "l"(a), "l"(b), "r"(accumulate));
}

constexpr int SUMS = TILE_N / 2; // of a thread, for 64 rows
// One stage's products. `begin`: the first of them replaces what d holds. With ALTERNATE the last quarter is a group of its own.
__device__ __forceinline__ void multiply_stage(float (&d)[CONSUMER_M][SUMS], uint32_t a, uint32_t b, bool begin) {
#pragma unroll
  for (int i = 0; i < STEP_K / 32; ++i) {
    if (ALTERNATE && i == STEP_K / 32 - 1) wgmma_commit();
#pragma unroll
    for (int j = 0; j < CONSUMER_M; ++j)
      wgmma_e4m3(d[j], descriptor_a(a + j * 64 * ROW_BYTES, i), descriptor_a(b, i), i > 0 || !begin);
  }
}

// The scales that a thread needs of one 128 of k: of its two rows in each 64, and of each 64 columns.
struct Scales {
  float rows[CONSUMER_M][2], columns[TILE_N / 64];
};
// `row`: of the thread's first element. scale_a is k/128 by m, scale_b n/128 by k/128. Outside of C nothing is read.
__device__ __forceinline__ Scales block_scales(const float* scale_a, const float* scale_b, int row, int column, int block, int m,
                                               int n, int blocks) {
  Scales s;
#pragma unroll
  for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int y = row + 64 * j + 8 * half;
      s.rows[j][half] = y < m ? __ldg(scale_a + static_cast<size_t>(block) * m + y) : 0.f;
    }
#pragma unroll
  for (int g = 0; g < TILE_N / 64; ++g) {
    const int x = column + 64 * g;
    s.columns[g] = x < n ? __ldg(scale_b + static_cast<size_t>(x / 128) * blocks + block) : 0.f;
  }
  return s;
}
// sums += scales * part
__device__ __forceinline__ void promote(float (&sums)[CONSUMER_M][SUMS], const float (&part)[CONSUMER_M][SUMS], const Scales& s) {
#pragma unroll
  for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
    for (int g = 0; g < TILE_N / 64; ++g) {
      const float upper = s.rows[j][0] * s.columns[g], lower = s.rows[j][1] * s.columns[g];
#pragma unroll
      for (int i = 32 * g; i < 32 * (g + 1); ++i) sums[j][i] += part[j][i] * (i & 2 ? lower : upper);
    }
}
// sums *= scale of the row * scale of the column; `column`: of the thread's first element.
__device__ __forceinline__ void scale_rows(float (&sums)[CONSUMER_M][SUMS], const float* scale_a, const float* scale_b, int row,
                                           int column, int m, int n) {
  float rows[CONSUMER_M][2];
#pragma unroll
  for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int y = row + 64 * j + 8 * half;
      rows[j][half] = y < m ? __ldg(scale_a + y) : 0.f;
    }
#pragma unroll
  for (int i = 0; i < SUMS; i += 4) { // n is even, and so is x: a pair is inside or outside as a whole
    const int x = column + 2 * i;
    const float2 pair = x < n ? __ldg(reinterpret_cast<const float2*>(scale_b + x)) : float2{0.f, 0.f};
#pragma unroll
    for (int j = 0; j < CONSUMER_M; ++j) {
      sums[j][i] *= rows[j][0] * pair.x, sums[j][i + 1] *= rows[j][0] * pair.y;
      sums[j][i + 2] *= rows[j][1] * pair.x, sums[j][i + 3] *= rows[j][1] * pair.y;
    }
  }
}

struct Place {
  int row, column; // of a block's tile, in elements
};
__device__ __forceinline__ Place place(int tile, int m, int n, uint32_t rank) {
  const Tile t = grouped_tile(tile, ceil_div(m, TILE_M * CLUSTER_M), ceil_div(n, TILE_N * CLUSTER_N), GROUP);
  const int below = rank % CLUSTER_M, beside = rank / CLUSTER_M;
  return Place{(t.row * CLUSTER_M + below) * TILE_M, (t.column * CLUSTER_N + beside) * TILE_N};
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    f0_scaled(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_c, const float* scale_a, const float* scale_b, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t boxes = ring + STAGES * STAGE_BYTES;
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8, turn = empty + STAGES * 8;
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = ceil_div(k, STEP_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, (PING_PONG ? 1 : CONSUMERS) * CLUSTER);
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
      const int part_a = CLUSTER_N > 1 ? rank * A_ROWS : 0, part_b = CLUSTER_M > 1 ? rank * B_ROWS : 0;
      bool backwards = false;
      wait_for_previous();
      for (int tile = first; tile < tiles; tile += stride) {
        const Place c = place(tile, m, n, rank);
        for (int step = 0; step < steps; ++step) {
          const int x = (backwards ? steps - 1 - step : step) * STEP_K / 2; // the maps are of pairs of 8-bit elements
          const uint32_t a = ring + stage * STAGE_BYTES + part_a * ROW_BYTES;
          const uint32_t b = ring + stage * STAGE_BYTES + A_BYTES + part_b * ROW_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          if constexpr (CLUSTER_N > 1) tma_load_multicast(a, &map_a, full + 8 * stage, x, c.row + part_a, 3);
          else tma_load(a, &map_a, full + 8 * stage, x, c.row);
          if constexpr (CLUSTER_M > 1) tma_load_multicast(b, &map_b, full + 8 * stage, x, c.column + part_b, 3);
          else tma_load(b, &map_b, full + 8 * stage, x, c.column);
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
    const int above = PING_PONG ? 0 : consumer * CONSUMER_ROWS; // rows of the tile that the other consumer computes
    const int thread_row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    uint32_t others = consumer ^ 1; // as in h8
    bool backwards = false;
    wait_for_previous(); // the scales are another kernel's, too
    if (PING_PONG && consumer > 0) pass_over();
    for (int tile = first + (PING_PONG ? consumer * stride : 0); tile < tiles; tile += (PING_PONG ? CONSUMERS : 1) * stride) {
      float sums[CONSUMER_M][SUMS];
      const Place c = place(tile, m, n, rank);
      const int row = c.row + above;
      if constexpr (PING_PONG) {
        barrier_wait(turn + 8 * consumer, others);
        others ^= 1;
      }
      if constexpr (BLOCKS) {
        const auto scales_of = [&](int step) {
          const int block = backwards ? steps - 1 - step : step;
          return block_scales(scale_a, scale_b, row + thread_row, c.column, block, m, n, steps);
        };
        float part[CONSUMER_M][SUMS];
#pragma unroll
        for (int j = 0; j < CONSUMER_M; ++j)
#pragma unroll
          for (int i = 0; i < SUMS; ++i) sums[j][i] = 0.f;
        Scales next = scales_of(0);
        for (int step = 0; step < steps; ++step) {
          const uint32_t a = ring + stage * STAGE_BYTES + above * ROW_BYTES, b = ring + stage * STAGE_BYTES + A_BYTES;
          barrier_wait(full + 8 * stage, phase);
          if constexpr (ALTERNATE) {
            barrier_wait(turn + 8 * consumer, others);
            others ^= 1;
          }
          wgmma_fence();
          multiply_stage(part, a, b, true);
          wgmma_commit();
          const Scales now = next;
          if (step + 1 < steps) next = scales_of(step + 1); // they arrive while the tensor cores multiply
          if constexpr (ALTERNATE) {
            wgmma_wait<1>(); // a quarter is left: as long as the other takes to begin
            if (leader) barrier_arrive(turn + 8 * (consumer ^ 1));
          }
          wgmma_wait<0>();
          if (releases) release(stage);
#pragma unroll
          for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(part[j]);
          promote(sums, part, now);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        backwards = !backwards;
      } else {
        int previous = 0;
        for (int step = 0; step < steps; ++step) {
          const uint32_t a = ring + stage * STAGE_BYTES + above * ROW_BYTES, b = ring + stage * STAGE_BYTES + A_BYTES;
          barrier_wait(full + 8 * stage, phase);
          wgmma_fence();
          multiply_stage(sums, a, b, step == 0);
          wgmma_commit();
          wgmma_wait<1>();
          if (step > 0 && releases) release(previous);
          previous = stage;
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        if (PING_PONG && leader) barrier_arrive(turn + 8 * (consumer ^ 1));
        wgmma_wait<0>();
        if (releases) release(previous);
        if constexpr (PING_PONG) pass_over();
#pragma unroll
        for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);
        scale_rows(sums, scale_a, scale_b, row + thread_row, c.column + threadIdx.x % 4 * 2, m, n);
      }
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
          tma_store(&map_c, box, c.column + across * 64, row + j * 64);
          tma_store_commit();
        }
      }
    }
    if (leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
}
