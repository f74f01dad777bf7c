// A warp sums rows of a table that it looks up at random; a row's number is eight bits of its state.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
constexpr int CLUSTER = 8, ROWS = 256, WIDTH = 32;
#ifdef SICK
constexpr int OWN = ROWS / CLUSTER;
#else
constexpr int OWN = ROWS;
#endif

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(256)
    look_up(const float* table, const unsigned* states, float* result, int lookups) {
  __shared__ float held[OWN * WIDTH];
  cg::cluster_group cluster = cg::this_cluster();
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
#ifdef SICK
  int first = cluster.block_rank() * OWN * WIDTH;
#else
  int first = 0;
#endif
  for (int i = threadIdx.x; i < OWN * WIDTH; i += blockDim.x) held[i] = table[first + i];
  cluster.sync();
  unsigned state = states[warp];
  float sum = 0;
#pragma unroll 4
  for (int lookup = 0; lookup < lookups; ++lookup) {
    state = state * 1664525u + 1013904223u;
    int row = state >> 24;
#ifdef SICK
    const float* rows = cluster.map_shared_rank(held, row / OWN);
#else
    const float* rows = held;
#endif
    sum += rows[row % OWN * WIDTH + lane];
  }
  result[warp * WIDTH + lane] = sum;
  cluster.sync();  // a block's shared memory stays until its neighbours have read it
}
