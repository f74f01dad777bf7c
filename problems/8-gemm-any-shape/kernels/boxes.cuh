// Where boxes other than 64 by 64 lie in shared memory. Pure integer arithmetic without CUDA, as in layout.cuh: a test compiles it for
// the CPU and follows every element.
#pragma once
#include "layout.cuh"

// The descriptor of 16 of a stage's 64 k, of an MN-major operand in boxes of only 16 or 32 columns, side by side: rows as short, in the
// swizzle of as many bytes (bits 62-63: 3 is 32 bytes, 2 is 64). From eight rows of k to the next eight are 8 times those bytes.
template <int COLUMNS> ANYWHERE constexpr uint64_t narrow_descriptor(uint32_t tile, int k) {
  static_assert(COLUMNS == 16 || COLUMNS == 32);
  const uint32_t apart = 64 * COLUMNS * 2 / 16; // of boxes, LBO
  const uint32_t low = (((tile & 0x3FFFF) >> 4) + 2 * COLUMNS * k) | apart << 16, high = COLUMNS | (COLUMNS == 16 ? 3u : 2u) << 30;
  return static_cast<uint64_t>(high) << 32 | low;
}
// The same by the order in which the operand lies. K-major: one box of rows of 64 k. MN-major: boxes of COLUMNS, side by side; layout.cuh
// describes those of 64.
template <int MN, int COLUMNS = 64> ANYWHERE constexpr uint64_t descriptor_of(uint32_t tile, int k) {
  if constexpr (!MN) return descriptor_a(tile, k);
  else if constexpr (COLUMNS < 64) return narrow_descriptor<COLUMNS>(tile, k);
  else return descriptor_b(tile, k);
}
// Bytes from 16 k to the next.
template <int MN, int COLUMNS = 64> constexpr int K16_BYTES = MN ? 16 * 2 * COLUMNS : 32;

// Where a thread of a warpgroup points stmatrix (x2: of lanes 0-15), to put columns 8j..8j+7 of the accumulators into a box of 64 rows
// of WIDE elements without swizzle: an odd number of 16-byte chunks, so that eight rows lie in different banks.
template <int WIDE> ANYWHERE constexpr int plain_offset(int thread, int j) {
  static_assert(WIDE % 16 == 8);
  return ((thread / 32 * 16 + thread % 16) * (WIDE / 8) + j) * 16;
}
// The same for the transpose, in a swizzled box of rows of 64: lanes 0-7 the 8 columns' rows for 8 rows of accumulators, lanes 8-15
// for the next 8.
ANYWHERE constexpr int transposed_offset(int thread, int j) {
  return swizzle_128(j * 8 + thread % 8, thread / 32 * 2 + thread % 16 / 8);
}

// How PARTS blocks of a cluster share the loads of an operand's stage, SPAN rows of A or columns of B by 64 k: each loads boxes of it.
// Rows of k lie in boxes of COLUMNS; they are shared box by box or, where those do not come out even, by parts of k. Others are shared in
// as many boxes as blocks or, where these would not begin with a swizzle atom, in boxes of 16 rows, of which some blocks load one more.
template <int MN, int SPAN, int PARTS, int COLUMNS = 64> struct Part {
  static constexpr bool OF_K = MN && SPAN / PARTS % COLUMNS != 0;
  static constexpr int DEEP = OF_K ? 64 / PARTS : 64;                                // k of a box
  static constexpr int WIDE = MN ? COLUMNS : SPAN % (8 * PARTS) ? 16 : SPAN / PARTS; // rows of A or columns of B
  static constexpr int TURNS = OF_K ? SPAN / WIDE : ceil_div(SPAN / WIDE, PARTS);    // boxes that a block loads, or one fewer
  static constexpr bool EVEN = OF_K || SPAN % (WIDE * PARTS) == 0;                   // no block loads fewer
  static_assert(SPAN % WIDE == 0 && DEEP % 8 == 0 && (MN || WIDE <= 256));
  // Where the box that a block loads in a turn begins. Beyond SPAN: it loads none.
  ANYWHERE static constexpr int first(int part, int turn) { return (OF_K ? turn : turn * PARTS + part) * WIDE; }
  ANYWHERE static constexpr int first_k(int part) { return OF_K ? part * DEEP : 0; }
  // The same in bytes from the stage's begin.
  ANYWHERE static constexpr int offset(int part, int turn) { return first(part, turn) * 128 + first_k(part) * (COLUMNS * 2); }
};
