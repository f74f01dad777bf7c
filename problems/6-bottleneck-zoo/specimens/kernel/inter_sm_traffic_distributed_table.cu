// A warp sums rows of a table that it looks up at random; a row's number is seven bits of its state.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
constexpr int CLUSTER = 8, ROWS = 128, LANES = 32;  // a lane has two words of a row
#ifdef SICK
constexpr int OWN = ROWS / CLUSTER;
#else
constexpr int OWN = ROWS;
#endif

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(256)
    look_up(const float2* table, const unsigned* states, float2* result, int lookups) {
  __shared__ float2 held[OWN * LANES];
  cg::cluster_group cluster = cg::this_cluster();
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
#ifdef SICK
  int first = cluster.block_rank() * OWN * LANES;
#else
  int first = 0;
#endif
  for (int i = threadIdx.x; i < OWN * LANES; i += blockDim.x) held[i] = table[first + i];
  cluster.sync();
  unsigned state = states[warp];
  float2 sum = make_float2(0, 0);
#pragma unroll 4
  for (int lookup = 0; lookup < lookups; ++lookup) {
    state = state * 1664525u + 1013904223u;
    int row = state >> 25;
#ifdef SICK
    const float2* rows = cluster.map_shared_rank(held, row / OWN);
#else
    const float2* rows = held;
#endif
    float2 words = rows[row % OWN * LANES + lane];
    sum.x += words.x;
    sum.y += words.y;
  }
  result[warp * LANES + lane] = sum;
  cluster.sync();  // a block's shared memory stays until its neighbours have read it
}
