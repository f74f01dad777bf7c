// h0: TMA brings the operands, wgmma multiplies them. One warpgroup, a 64 x 64 tile, one buffer.
//
// mma.sync hits a wall on Hopper: its operands go through registers and it reaches about two thirds of the tensor
// cores' rate. wgmma reads both operands from shared memory, for 128 threads at a time, without blocking them; TMA fills
// shared memory from one instruction of one thread, swizzled, with the tails zeroed, without an address per thread.
// Here nothing overlaps yet: load, wait, multiply, wait.
//
// Protocol: `full` (1 arrival: thread 0's, with the bytes of the step) flips once a step, so its parity is the step's.
// __syncthreads after the wgmma wait keeps thread 0 from overwriting what slower warps still read.
#include "hopper.cuh"

constexpr int TILE_M = 64, TILE_N = 64, THREADS = 128;
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_K * TILE_N * 2;
constexpr int SHARED_BYTES = A_BYTES + B_BYTES + 8;
LAUNCHED_WITH(TILE_M, TILE_N, THREADS, SHARED_BYTES);

extern "C" __global__ void __launch_bounds__(THREADS)
    h0_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, element* c, int m, int n,
             int k) {
  extern __shared__ __align__(1024) unsigned char memory[]; // the swizzle looks at address bits: 1024-aligned
  const uint32_t a = shared_address(memory), b = a + A_BYTES, full = b + B_BYTES;
  const int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;

  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
  }
  __syncthreads();

  float sums[TILE_N / 2];
  const int steps = ceil_div(k, TILE_K);
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      barrier_expect(full, A_BYTES + B_BYTES);
      tma_load(a, &map_a, full, step * TILE_K, row);
      tma_load(b, &map_b, full, column, step * TILE_K);
    }
    barrier_wait(full, step & 1);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < TILE_K / 16; ++i) wgmma(sums, descriptor_a(a, i), descriptor_b(b, i), step + i > 0);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
  }
  accumulators_ready(sums);
  store_direct(sums, c, row, column, m, n);
}
