// Problem 8's ping_pong with an epilogue: a consumer that has a tile's sums also does the element-wise work that comes after the
// product, while the other consumer multiplies. So that work costs no pass over memory of its own.
//
//   EPILOGUE  0              C = A B + bias
//             BIAS_GELU  C = GELU'(A B + bias), D = GELU(A B + bias)
//             SCALE      C = A B D element by element, and the sums of C's columns over each 16 rows of a tile's 64-row parts
//             BIAS_ADD   C = A B + bias + D
//
// The backward pass needs GELU's derivative and not its input: the forward pass, which has both in registers, leaves that.
// Where D is read, TMA brings its boxes to where C's boxes are stored from: a thread finds in its registers' places of a box of D what
// belongs to its sums, and writes C there. The other macros are ping_pong's.
#include "tiles.cuh"

constexpr int BIAS_GELU = 1, SCALE = 2, BIAS_ADD = 3;
constexpr bool READS_D = EPILOGUE == SCALE || EPILOGUE == BIAS_ADD, WRITES_D = EPILOGUE == BIAS_GELU;
constexpr int TILE_M = 64 * CONSUMER_M, CLUSTER = CLUSTER_M * CLUSTER_N, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BOXES = CONSUMER_M * TILE_N / 64; // of a tile of C
constexpr int COUNT = TILE_N / 2;               // accumulators of a thread for 64 rows
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16) + CONSUMERS * (STORE_BOXES * (BOX_BYTES + 8) + 8);
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);
static_assert(CONSUMERS == 2 && TILE_N % 64 == 0 && TILE_N <= 256);
static_assert(CONSUMER_M * TILE_N <= 384, "a consumer's sums have to fit in its registers");
static_assert(CLUSTER == 1 || CLUSTER == 2, "in larger clusters all blocks would not be peers");
static_assert(STORE_BOXES >= 2 && STORE_BOXES % 2 == 0 && STORE_BOXES <= BOXES && STAGES >= 2 && SHARED_BYTES <= 232448);

// One thread: fetches both maps, sets the barriers of the ring. `releases`: arrivals that empty a stage.
__device__ __forceinline__ void prepare_ring(const CUtensorMap* a, const CUtensorMap* b, uint32_t full, uint32_t empty,
                                             int releases) {
  prefetch_map(a);
  prefetch_map(b);
  for (int i = 0; i < STAGES; ++i) {
    barrier_init(full + 8 * i, 1);
    barrier_init(empty + 8 * i, releases);
  }
}
// Half `which` of an operand's stage, or all of it where PARTS is 1, to all blocks in `blocks`: of rows of k in boxes of 64 columns half of
// the boxes, or, of an odd number, half of the k. `along`: the stage's first row of A or column of B.
template <int MN, int SPAN, int PARTS>
__device__ __forceinline__ void load_part(uint32_t to, const CUtensorMap* map, uint32_t barrier, int along, int k0, int which,
                                          uint16_t blocks) {
  constexpr bool OF_K = MN && SPAN / PARTS % 64 != 0;
  constexpr int WIDE = OF_K ? SPAN : SPAN / PARTS, DEEP = OF_K ? 64 / PARTS : 64;
  const int part = PARTS > 1 ? which : 0, first = OF_K ? 0 : part * WIDE, deep = OF_K ? part * DEEP : 0;
#pragma unroll
  for (int i = 0; i < (MN ? WIDE / 64 : 1); ++i) {
    const int x = MN ? along + first + i * 64 : k0, y = MN ? k0 + deep : along + first;
    const uint32_t box = to + (MN ? (first / 64 + i) * (64 * 128) + deep * (64 * 2) : first * 128);
    if (PARTS > 1) tma_load_multicast(box, map, barrier, x, y, blocks);
    else tma_load(box, map, barrier, x, y);
  }
}

// GELU by tanh is u sigmoid(2z), with 2z = TWICE_ROOT u (1 + CUBIC u^2): see gelu_kernel.py.
constexpr float TWICE_ROOT = 1.5957691216057308f, CUBIC = 0.044715f, LOG2_E = 1.4426950408889634f;
__device__ __forceinline__ float share(float u) {
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-LOG2_E * TWICE_ROOT * u * fmaf(CUBIC * u, u, 1.f)));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.f + power));
  return inverse;
}
// Returns GELU(u) and turns u into GELU'(u).
__device__ __forceinline__ float gelu(float& u) {
  const float s = share(u), activated = u * s;
  u = s * fmaf(u * (1.f - s), TWICE_ROOT * fmaf(3.f * CUBIC * u, u, 1.f), 1.f);
  return activated;
}
__device__ __forceinline__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Calls what(index of a sum, index of its column's sum, value of D) for the 32 sums of 64 columns. The places are store_box's.
template <class What> __device__ __forceinline__ void with_box(uint32_t box, What what) {
#pragma unroll
  for (int j = 0; j < 8; j += 2) {
    uint32_t pairs[4];
    load_matrices(pairs, box + store_offset(threadIdx.x % 128, j));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      what(4 * j + 2 * i, 2 * j + i / 2 * 2, low(pairs[i]));
      what(4 * j + 2 * i + 1, 2 * j + i / 2 * 2 + 1, high(pairs[i]));
    }
  }
}
__device__ __forceinline__ void store_matrices(const float* v, uint32_t to) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(pack(v[0], v[1])),
               "r"(pack(v[2], v[3])), "r"(pack(v[4], v[5])), "r"(pack(v[6], v[7]))
               : "memory");
}
// As store_box: GELU's derivative at the sums to `box`, and GELU to the box after it.
__device__ __forceinline__ void store_gelu(float* sums, uint32_t box) {
#pragma unroll
  for (int j = 0; j < 8; j += 2) {
    const uint32_t to = box + store_offset(threadIdx.x % 128, j);
    float activated[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) activated[i] = gelu(sums[4 * j + i]);
    store_matrices(sums + 4 * j, to);
    store_matrices(activated, to + BOX_BYTES);
  }
}
// Adds a bias to the sums of 64 columns, of which `bias` is the first.
__device__ __forceinline__ void add_bias(float* sums, const element* bias) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const uint32_t pair = __ldg(reinterpret_cast<const uint32_t*>(bias + 8 * j + threadIdx.x % 4 * 2));
    sums[4 * j] += low(pair), sums[4 * j + 1] += high(pair);
    sums[4 * j + 2] += low(pair), sums[4 * j + 3] += high(pair);
  }
}
// One of the exchanges below: of 2 HALF columns that a lane has it keeps half, and adds what the lane APART from it had of those.
template <int APART, int HALF = APART / 2> __device__ __forceinline__ void exchange(float (&columns)[16]) {
  const bool upper = threadIdx.x & APART;
#pragma unroll
  for (int i = 0; i < HALF; ++i) {
    const float given = upper ? columns[i] : columns[i + HALF];
    columns[i] = (upper ? columns[i + HALF] : columns[i]) + __shfl_xor_sync(~0u, given, APART);
  }
}
// The sums of 64 columns over a warp's rows: in the end each lane has two columns of them.
__device__ __forceinline__ void store_column_sums(float (&columns)[16], float* to) {
  exchange<16>(columns);
  exchange<8>(columns);
  exchange<4>(columns);
  const int lane = threadIdx.x % 32, column = (lane & 16) * 2 + (lane & 8) * 2 + (lane & 4) * 2 + lane % 4 * 2;
  *reinterpret_cast<float2*>(to + column) = make_float2(columns[0], columns[1]);
}

// parts: [4 for each TILE_M rows, n]; each warp of a consumer leaves a row.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    fused_product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                  const __grid_constant__ CUtensorMap map_c, const __grid_constant__ CUtensorMap map_d, const element* bias,
                  float* parts, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = kept(shared_address(memory));
  const uint32_t boxes = ring + STAGES * STAGE_BYTES;
  const uint32_t full = boxes + CONSUMERS * STORE_BOXES * BOX_BYTES, empty = full + STAGES * 8, turn = empty + STAGES * 8;
  const uint32_t arrived = turn + CONSUMERS * 8; // a barrier for each box of D
  const int tiles = ceil_div(m, TILE_M * CLUSTER_M) * ceil_div(n, TILE_N * CLUSTER_N); // of the cluster
  const int unit = blockIdx.x / CLUSTER, units = gridDim.x / CLUSTER;
  const uint32_t rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    prepare_ring(&map_a, &map_b, full, empty, CLUSTER);
    for (int i = 0; i < CONSUMERS; ++i) barrier_init(turn + 8 * i, 1);
    for (int i = 0; i < CONSUMERS * STORE_BOXES; ++i) barrier_init(arrived + 8 * i, 1);
    barrier_init_fence();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
  else __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    registers_give<40>();
    if (elected_of_first()) {
      bool backwards = false;
      wait_for_previous();
      for (int tile = unit; tile < tiles; tile += units) {
        const Place at = place<TILE_M>(tile, m, n, rank);
        for (int step = 0; step < steps; ++step) {
          const int k0 = (backwards ? steps - 1 - step : step) * TILE_K;
          const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
          barrier_wait(empty + 8 * stage, phase ^ 1);
          barrier_expect(full + 8 * stage, STAGE_BYTES);
          load_part<A_MN, TILE_M, CLUSTER_N>(a, &map_a, full + 8 * stage, at.row, k0, rank, 3);
          load_part<B_MN, TILE_N, CLUSTER_M>(b, &map_b, full + 8 * stage, at.column, k0, rank, 3);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        backwards = !backwards;
      }
    }
  } else { // consumers
    registers_take<232>();
    const int consumer = warpgroup - 1, thread = threadIdx.x % 128;
    const bool leader = thread == 0;
    const bool releases = thread < CLUSTER; // a thread for each block
    const uint32_t own_boxes = boxes + consumer * STORE_BOXES * BOX_BYTES, own_arrived = arrived + consumer * STORE_BOXES * 8;
    const auto release = [&](int which) {
      if constexpr (CLUSTER > 1) barrier_arrive_at(empty + 8 * which, thread);
      else barrier_arrive(empty + 8 * which);
    };
    const auto pass_over = [&] { // skip the stages of a tile
      stage += steps % STAGES;
      phase ^= steps / STAGES & 1;
      if (stage >= STAGES) stage -= STAGES, phase ^= 1;
    };
    const auto fetch = [&](int i, Place at) { // box i of the tile of D; its boxes go down, then across
      const int box = i % STORE_BOXES;
      barrier_expect(own_arrived + 8 * box, BOX_BYTES);
      tma_load(own_boxes + box * BOX_BYTES, &map_d, own_arrived + 8 * box, at.column + i / CONSUMER_M * 64,
               at.row + i % CONSUMER_M * 64);
    };
    const uint64_t first_a = descriptor_of<A_MN>(ring, 0), first_b = descriptor_of<B_MN>(ring + A_BYTES, 0);
    uint32_t others = consumer ^ 1; // parity of the number of tiles that the other must have begun: 0 for the first of consumer 0
    uint32_t parities = 0;          // of the boxes of D, a bit each
    if (consumer > 0) pass_over();
    if (READS_D && leader) wait_for_previous();
    for (int tile = unit + consumer * units; tile < tiles; tile += CONSUMERS * units) {
      const Place at = place<TILE_M>(tile, m, n, rank);
      if (READS_D && leader) {
        tma_store_wait_read<0>();
#pragma unroll
        for (int i = 0; i < STORE_BOXES; ++i) fetch(i, at);
      }
      float sums[CONSUMER_M][COUNT];
      bool full_yet = false; // the next stage
      barrier_wait(turn + 8 * consumer, others);
      others ^= 1;
      for (int step = 0; step < steps; ++step) {
        if (!full_yet) barrier_wait(full + 8 * stage, phase);
        multiply_stage<A_MN, B_MN>(sums, further(first_a, stage * STAGE_BYTES), further(first_b, stage * STAGE_BYTES), step > 0);
        if (++stage == STAGES) stage = 0, phase ^= 1;
        full_yet = barrier_test(full + 8 * stage, phase);
        wgmma_wait<1>();
        if (step > 0 && releases) release(stage_before(stage, 2));
      }
      if (leader) barrier_arrive(turn + 8 * (consumer ^ 1));
      wgmma_wait<0>();
      if (releases) release(stage_before(stage, 1));
      pass_over();
#pragma unroll
      for (int j = 0; j < CONSUMER_M; ++j) accumulators_ready(sums[j]);

      float columns[16]; // of the sums of C's columns, those of this thread's rows
#pragma unroll
      for (int i = 0; i < BOXES; ++i) {
        const int j = i % CONSUMER_M, across = i / CONSUMER_M, x = at.column + across * 64, y = at.row + j * 64;
        const int which = WRITES_D ? 2 * i % STORE_BOXES : i % STORE_BOXES;
        const uint32_t box = own_boxes + which * BOX_BYTES;
        float* const own = sums[j] + across * 32;
        if constexpr (READS_D) {
          barrier_wait(own_arrived + 8 * which, parities >> which & 1);
          parities ^= 1u << which;
        } else {
          if (leader) tma_store_wait_read<STORE_BOXES / (1 + WRITES_D) - 1>();
          warpgroup_sync(warpgroup);
        }
        const bool inside = x < n; // a cluster's second block may have no columns
        if (EPILOGUE != SCALE && inside) add_bias(own, bias + x);
        if constexpr (EPILOGUE == BIAS_ADD) with_box(box, [&](int s, int, float d) { own[s] += d; });
        if constexpr (EPILOGUE == SCALE)
          with_box(box, [&](int s, int column, float d) {
            own[s] *= d;
            columns[column] = j == 0 && s % 4 < 2 ? own[s] : columns[column] + own[s];
          });
        if constexpr (WRITES_D) store_gelu(own, box);
        else store_box(sums[j], across * 32, box);
        async_proxy_fence();
        warpgroup_sync(warpgroup);
        if (leader) {
          tma_store(&map_c, box, x, y);
          if constexpr (WRITES_D) tma_store(&map_d, box + BOX_BYTES, x, y);
          tma_store_commit();
          if (READS_D && i > 0 && i - 1 + STORE_BOXES < BOXES) {
            tma_store_wait_read<1>(); // the store before this one
            fetch(i - 1 + STORE_BOXES, at);
          }
        }
        if constexpr (EPILOGUE == SCALE)
          if (j == CONSUMER_M - 1 && inside)
            store_column_sums(columns, parts + static_cast<size_t>(at.row / TILE_M * 4 + thread / 32) * n + x);
      }
    }
    if (leader) tma_store_wait_read<0>();
  }
  if constexpr (CLUSTER > 1) cluster_sync();
}
