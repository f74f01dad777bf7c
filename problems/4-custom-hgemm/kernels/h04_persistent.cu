// h4: a persistent kernel: one block per multiprocessor computes tile after tile. In h3 every block starts with empty stages and ends
// with an epilogue, and a multiprocessor has room for one block only, so both leave its tensor cores idle. Now the producer
// continues across tiles: while the consumers write C it fills the stages for the next tile. The two consumers also
// drift apart, by up to STAGES steps: one writes while the other multiplies.
//
// Protocol: as in h3, but the stages are not reset between tiles: `stage` and `phase` go on counting, in the producer and
// in the consumers alike, which is what keeps their parities in step. For the same reason a consumer now has to release the
// last stage of a tile.
#include "hopper.cuh"

#ifndef STAGES
#define STAGES 4
#endif
constexpr int TILE_M = 128, TILE_N = 256, CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS);
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16);
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448, "the ring must fit in shared memory");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    h4_persistent(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m,
                     int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t full = ring + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
  const int columns = ceil_div(n, TILE_N), tiles = ceil_div(m, TILE_M) * columns;
  const int steps = ceil_div(k, TILE_K);
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // from one lane: the compiler sees that a warp agrees

  if (threadIdx.x == 0) {
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
    registers_give<40>();
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int row = tile / columns * TILE_M, column = tile % columns * TILE_N;
        for (int step = 0; step < steps; ++step) {
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
    }
  } else { // consumers
    registers_take<232>();
    const int consumer = warpgroup - 1;
    const bool leader = threadIdx.x % 128 == 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int row = tile / columns * TILE_M, column = tile % columns * TILE_N;
      float sums[TILE_N / 2];
      int previous = 0;
      for (int step = 0; step < steps; ++step) {
        const uint32_t a = ring + stage * STAGE_BYTES + consumer * 64 * 128, b = ring + stage * STAGE_BYTES + A_BYTES;
        barrier_wait(full + 8 * stage, phase);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < TILE_K / 16; ++i) wgmma(sums, descriptor_a(a, i), descriptor_b(b, i), step + i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (leader && step > 0) barrier_arrive(empty + 8 * previous);
        previous = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      wgmma_wait<0>();
      if (leader) barrier_arrive(empty + 8 * previous);
      accumulators_ready(sums);
      store_direct(sums, c, row + consumer * 64, column, m, n);
    }
  }
}
