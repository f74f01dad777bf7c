// How a consumer of stream_k or ping_pong stores the sums of a tile: in boxes of STORE_COLUMNS columns (transposed: rows) of C, of which
// it has STORE_BOXES in shared memory. TMA stores a box while the consumer fills the next.
#pragma once
#include "tiles.cuh"

constexpr int ACROSS = ceil_div(TILE_N, STORE_COLUMNS), BOXES = CONSUMER_M * ACROSS; // of a consumer's sums
constexpr int STORED_BYTES = 64 * STORE_COLUMNS * 2;                                 // of a box
static_assert(TMA_STORE || (TILE_N % 32 == 0 && !C_TRANSPOSED));
static_assert(BOXES % STORE_BOXES == 0);

// `boxes`: the consumer's; `row`, `column`: of C, where its sums begin, as the kernel computes it.
template <int COUNT>
__device__ __forceinline__ void store_sums(const float (&sums)[CONSUMER_M][COUNT], uint32_t boxes, int warpgroup, const CUtensorMap* map,
                                           element* c, int row, int column, int m, int n) {
  const bool leader = threadIdx.x % 128 == 0;
#pragma unroll
  for (int i = 0; i < BOXES; ++i) {
    const int j = i / ACROSS, across = i % ACROSS;
    const bool half = !C_TRANSPOSED && TILE_N - across * STORE_COLUMNS < STORE_COLUMNS; // TMA would write the neighbour's columns
    const uint32_t box = boxes + i % STORE_BOXES * STORED_BYTES;
    const int x = column + across * STORE_COLUMNS, y = row + j * 64, first = across * STORE_COLUMNS / 2;
    if (TMA_STORE && leader) tma_store_wait_read<STORE_BOXES - 1>();
    warpgroup_sync(warpgroup);
    if constexpr (C_TRANSPOSED) store_transposed<STORE_COLUMNS>(sums[j], first, box);
    else if constexpr (STORE_COLUMNS != 64) store_plain<STORE_COLUMNS>(sums[j], first, box);
    else if (half) store_half_box(sums[j], first, box);
    else store_box(sums[j], first, box);
    if constexpr (TMA_STORE) async_proxy_fence();
    warpgroup_sync(warpgroup);
    if (half) copy_box<1>(box, c, y, x, m, n);
    else if constexpr (!TMA_STORE) copy_box<2>(box, c, y, x, m, n);
    else if (leader) tma_store(map, box, C_TRANSPOSED ? y : x, C_TRANSPOSED ? x : y);
    if (TMA_STORE && leader) tma_store_commit(); // a group for each box, if an empty one
  }
}
