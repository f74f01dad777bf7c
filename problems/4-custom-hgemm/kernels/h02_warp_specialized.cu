// h2: warp specialization: a producer warp fills a circular buffer of stages. In h1 the tensor cores wait for every load from L2
// or DRAM. Now the producer runs ahead by as many steps as there are stages, and the consumer warpgroup finds its
// operands in place.
//
// Protocol, for each stage of the buffer:
//   full   1 arrival (the producer's, announcing the bytes) + the bytes: the stage holds a step's operands.
//   empty  1 arrival (one thread of the consumer): its wgmmas no longer read the stage.
// Both sides walk stages 0..STAGES-1 and flip `phase` at each wrap. The consumer waits for full[stage] on `phase`. The
// producer waits for empty[stage] on phase ^ 1: in the first round every stage is free, and that wait returns at once.
// A stage is released one step late, when wgmma_wait<1> says that only the newest step is still in flight: so the tensor
// cores always have the next wgmmas queued.
#include "hopper.cuh"

#ifndef STAGES
#define STAGES 5
#endif
constexpr int TILE_M = 128, TILE_N = 128, THREADS = 128 + 32; // one thread is enough to issue the loads; a warp is the smallest role
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int SHARED_BYTES = STAGES * (STAGE_BYTES + 16);
static_assert(STAGES >= 2 && SHARED_BYTES <= 232448, "the ring must fit in shared memory");
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS)
    h2_warp_specialized(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m,
                        int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t ring = shared_address(memory);
  const uint32_t full = ring + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
  const int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;
  const int steps = ceil_div(k, TILE_K);

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, 1);
    }
    barrier_init_fence();
  }
  __syncthreads();

  int stage = 0;
  uint32_t phase = 0;
  if (threadIdx.x >= 128) { // producer
    if (threadIdx.x == 128) {
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
  } else { // consumer
    float sums[2][TILE_N / 2];
    int previous = 0;
    for (int step = 0; step < steps; ++step) {
      const uint32_t a = ring + stage * STAGE_BYTES, b = a + A_BYTES;
      barrier_wait(full + 8 * stage, phase);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < TILE_K / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          wgmma(sums[half], descriptor_a(a + half * 64 * 128, i), descriptor_b(b, i), step + i > 0);
      wgmma_commit();
      wgmma_wait<1>();
      if (threadIdx.x == 0 && step > 0) barrier_arrive(empty + 8 * previous);
      previous = stage;
      if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    wgmma_wait<0>();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      accumulators_ready(sums[half]);
      store_direct(sums[half], c, row + half * 64, column, m, n);
    }
  }
}
