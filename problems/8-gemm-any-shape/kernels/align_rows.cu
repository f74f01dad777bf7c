// Copies one or two matrices so that their rows begin at multiples of 16 bytes, as TMA asks. A thread moves CHUNKS times 16 bytes,
// all loads in flight at once. It reads and writes each byte once: where the product reads an operand many times, from L2 and with
// every row at an odd address costing more lines than an aligned row, the copy pays for itself.
#include "realign.cuh"
#include "hopper.cuh"

constexpr int THREADS = 256, CHUNKS = 4;
LAUNCHED_WITH(CHUNKS, 8, THREADS, 0);

struct Copy {
  const element* from;
  element* to;
  int64_t pitch_from, pitch_to; // elements from row to row
  int rows, columns;
};

extern "C" __global__ void __launch_bounds__(THREADS) align_rows(const Copy first, const Copy second, int blocks_of_first) {
  const bool one = static_cast<int>(blockIdx.x) < blocks_of_first;
  const element* from = one ? first.from : second.from;
  element* to = one ? first.to : second.to;
  const int64_t pitch_from = one ? first.pitch_from : second.pitch_from, pitch_to = one ? first.pitch_to : second.pitch_to;
  const uint32_t rows = one ? first.rows : second.rows;
  const int columns = one ? first.columns : second.columns;
  const uint32_t block = one ? blockIdx.x : blockIdx.x - blocks_of_first;
  const uint32_t across = ceil_div(columns, 8), chunks = rows * across; // at most 2^31 elements
  let_next_start();
  wait_for_previous();
  int valid[CHUNKS];
  int64_t places[CHUNKS];
  Fetched fetched[CHUNKS];
#pragma unroll
  for (int i = 0; i < CHUNKS; ++i) {
    const uint32_t chunk = (block * CHUNKS + i) * THREADS + threadIdx.x;
    const uint32_t row = chunk / across, x = (chunk - row * across) * 8;
    valid[i] = chunk < chunks ? columns - static_cast<int>(x) : 0;
    places[i] = row * pitch_to + x;
    fetched[i] = fetch(from + row * pitch_from + x, valid[i]);
  }
#pragma unroll
  for (int i = 0; i < CHUNKS; ++i)
    if (valid[i] > 0) *reinterpret_cast<uint4*>(to + places[i]) = arranged(fetched[i], valid[i]);
}
