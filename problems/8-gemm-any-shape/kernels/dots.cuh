// Which rows and which k a lane of dots.cu loads, and where its sums lie. Pure integer arithmetic without CUDA, as in work.cuh: a test
// compiles it for the CPU and checks by brute force that every element is multiplied once and every sum is stored once.
//
// X is read in vectors of 16 bytes at multiples of 16 bytes, whatever its pitch: lines (rows, or rows of k) whose numbers differ by a
// multiple of `period` begin at the same place within 16 bytes, `shift` elements after a multiple. A warp takes only such lines, so
// that all its vectors begin at the same k (or at the same row): `shift` elements before where they would otherwise.
// Periods, ways and slices are powers of two: nothing here divides by a number that the compiler does not know.
#pragma once
#include "layout.cuh"

constexpr int WARPS = 8, VECTOR = 8; // elements of a vector
constexpr int STEP_ALONG = 32;       // k of a warp's step where rows run along k: 4 lanes, a vector each
constexpr int STEP_ACROSS = 16;      // k of a warp's step where X has rows of k: 4 lanes, 4 rows of k each
constexpr int BLOCK_STEP = WARPS * STEP_ACROSS;

ANYWHERE constexpr int period_of(int64_t pitch) { return pitch % 8 == 0 ? 1 : pitch % 4 == 0 ? 2 : pitch % 2 == 0 ? 4 : 8; }
ANYWHERE constexpr int power_of(int number) { return number >= 8 ? 3 : number >= 4 ? 2 : number >= 2 ? 1 : 0; }
// `first`: the address of the operand, in elements.
ANYWHERE constexpr int shift_of(int64_t first, int64_t pitch, int line) {
  return (static_cast<uint32_t>(first) + static_cast<uint32_t>(line) * static_cast<uint32_t>(pitch)) & (VECTOR - 1);
}
// Of two neighbouring elements in a word, `at` and `at + 1`, those from 0 on and before `end`; zeros in the others' place.
ANYWHERE constexpr uint32_t within(uint32_t word, int at, int end) {
  return word & ((at >= 0 && at < end ? 0xFFFFu : 0u) | (at + 1 >= 0 && at + 1 < end ? 0xFFFF0000u : 0u));
}
// Where a block's part of `count` equal pieces of K begins; the next block's is its end.
ANYWHERE constexpr int share_of(int count, int rank, int slices) {
  return static_cast<int>(static_cast<uint32_t>(count) * static_cast<uint32_t>(rank) >> power_of(slices));
}

// ---- Rows of X along k: the `height` rows of a block are `period` apart ------------------------------
ANYWHERE constexpr int tiles_along(int period, int w, int height) { return period * ceil_div(ceil_div(w, period), height); }
ANYWHERE constexpr int first_along(int tile, int period, int height) {
  return (tile & (period - 1)) + (tile >> power_of(period)) * height * period;
}
ANYWHERE constexpr int steps_along(int k, int shift) { return ceil_div(k + shift, STEP_ALONG); }
// The first k of a lane's vector, which may be negative.
ANYWHERE constexpr int k_along(int step, int lane, int shift) { return step * STEP_ALONG + lane % 4 * VECTOR - shift; }
// The row, counted in the warp's, of a lane's vector `i`.
ANYWHERE constexpr int row_along(int i, int lane) { return i * 8 + lane / 4; }

// ---- X of rows of k: a lane's vector holds 8 rows of X -----------------------------------------------
// Rows of X that a block stores, of `rows` that each warp reads: vectors may begin up to 7 rows before the tile.
ANYWHERE constexpr int height_across(int64_t first, int64_t pitch, int rows) {
  return period_of(pitch) == 1 && first % VECTOR == 0 ? rows : rows - VECTOR;
}
ANYWHERE constexpr int line_across(int warp, int period) { return warp & (period - 1); }
// The first row of a lane's vector `i`, which may be negative; `first`: of the tile.
ANYWHERE constexpr int row_across(int first, int i, int lane, int shift) { return first + i * 64 + lane / 4 * VECTOR - shift; }
// The k of a lane's row `j` of 4, counted from a multiple of 8, in a step of the block.
ANYWHERE constexpr int k_across(int step, int warp, int lane, int j, int period) {
  return step * BLOCK_STEP + (warp & -period) * STEP_ACROSS + (lane % 4 * 4 + j) * period + line_across(warp, period);
}

// ---- Sums ----------------------------------------------------------------------------------------------
// The row, counted in those that the warp reads, of a lane's sums in tile i of 16 by 8: the first two (half 0) and the last two.
ANYWHERE constexpr int sum_along(int i, int half, int lane) { return i * 16 + half * 8 + lane / 4; }
ANYWHERE constexpr int sum_across(int i, int half, int lane) { return i / 4 * 64 + lane / 4 * 8 + i % 4 * 2 + half; }
// Where a row's sums lie in shared memory, in rows: without bank conflicts where lanes are 8 rows apart.
ANYWHERE constexpr int place_of(int row) { return row + row / 8; }
