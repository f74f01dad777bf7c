// h10: split K: for small C, several blocks compute a tile. 1024 x 1024 has 64 tiles of 128 x 128: half of 132 multiprocessors would stay
// idle, and smaller tiles read more for each FLOP. Here the SPLIT blocks of a cluster take a part of K each and add
// up their sums through each other's shared memory: no workspace, no second kernel, the same order of additions in every run.
// A tile per cluster and no more: where there are several waves, h7 is the kernel.
//
// Protocol: h3's within each block (nothing is multicast). Then
//   cluster_sync: every block has multiplied its last stage, so the stages' memory may hold sums;
//   each consumer sends the parts of its sums that other blocks own: block r owns, of the tile's 64 rows of consumer r % 2,
//   part r / 2 of the columns;
//   cluster_sync: all has arrived; each owner adds and stores. No block touches another's memory after that, so blocks may
//   exit.
#include "hopper.cuh"

#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef STAGES
#define STAGES 5
#endif
#ifndef SPLIT
#define SPLIT 2
#endif
constexpr int TILE_M = 128, CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16);
constexpr int PARTS = SPLIT / CONSUMERS, COUNT = TILE_N / 2 / PARTS; // accumulators a thread has of a part
static_assert(SPLIT == 2 || SPLIT == 4, "each block owns part of one consumer's rows");
static_assert(TILE_N % 64 == 0 && TILE_N <= 256 && SHARED_BYTES <= 232448);
static_assert((SPLIT - 1) * COUNT * 128 * 4 <= STAGES * STAGE_BYTES, "what a block receives must fit in its ring");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

__device__ __forceinline__ uint32_t address_in(uint32_t address, uint32_t block) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
  return remote;
}
__device__ __forceinline__ void send(uint32_t to, const float* v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
               : "memory");
}
__device__ __forceinline__ void add(float* v, uint32_t from) {
  float x, y, z, w;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "r"(from) : "memory");
  v[0] += x, v[1] += y, v[2] += z, v[3] += w;
}

extern "C" __global__ void __cluster_dims__(SPLIT, 1, 1) __launch_bounds__(THREADS, 1)
    h10_split_k(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m, int n,
                int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t full = ring + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
  const int columns = ceil_div(n, TILE_N), tile = blockIdx.x / SPLIT;
  const int row = tile / columns * TILE_M, column = tile % columns * TILE_N;
  const int rank = cluster_rank(), steps = ceil_div(k, TILE_K);
  const int begin = steps * rank / SPLIT, end = steps * (rank + 1) / SPLIT; // may be empty
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);

  let_next_start();
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, CONSUMERS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (warpgroup == 0) { // producer
    if (threadIdx.x == 0) {
      wait_for_previous();
      for (int step = begin; step < end; ++step) {
        const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
        barrier_wait(empty + 8 * stage, phase ^ 1);
        barrier_expect(full + 8 * stage, STAGE_BYTES);
        tma_load(a, &map_a, full + 8 * stage, step * TILE_K, row);
#pragma unroll
        for (int i = 0; i < TILE_N / 64; ++i)
          tma_load(b + i * BOX_BYTES, &map_b, full + 8 * stage, column + i * 64, step * TILE_K);
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
    }
    cluster_sync();
    cluster_sync();
  } else { // consumers
    const int consumer = warpgroup - 1, thread = threadIdx.x % 128;
    float sums[TILE_N / 2] = {};
    int previous = 0;
    for (int step = begin; step < end; ++step) {
      const uint32_t a = ring + stage * STAGE_BYTES + consumer * 64 * 128, b = ring + stage * STAGE_BYTES + A_BYTES;
      barrier_wait(full + 8 * stage, phase);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < TILE_K / 16; ++i) wgmma(sums, descriptor_a(a, i), descriptor_b(b, i), 1);
      wgmma_commit();
      wgmma_wait<1>();
      if (thread == 0 && step > begin) barrier_arrive(empty + 8 * previous);
      previous = stage;
      if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    wgmma_wait<0>();
    accumulators_ready(sums);

    cluster_sync();
    // The accumulators of 128 threads, four at a time: a warp's 16-byte accesses are contiguous.
    const auto inbox = [&](int sender, int i) { return ring + ((sender * COUNT + i) * 128 + thread * 4) * 4; };
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const int owner = consumer + CONSUMERS * part;
      if (owner != rank) {
        const int sender = rank < owner ? rank : rank - 1;
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) send(address_in(inbox(sender, i), owner), sums + part * COUNT + i);
      }
    }
    cluster_sync();
    if (rank % CONSUMERS == consumer) {
      const int mine = rank / CONSUMERS;
      float own[COUNT];
#pragma unroll
      for (int i = 0; i < COUNT; ++i) own[i] = PARTS == 1 || mine == 0 ? sums[i] : sums[TILE_N / 2 - COUNT + i];
#pragma unroll
      for (int sender = 0; sender < SPLIT - 1; ++sender)
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) add(own + i, inbox(sender, i));
      store_direct(own, c, row + consumer * 64, column + mine * COUNT * 2, m, n);
    }
  }
}
