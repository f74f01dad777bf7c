// Which steps of K of which tiles a unit (a block, or a cluster of blocks) computes. Pure integer arithmetic without CUDA, as in
// layout.cuh: a test compiles it for the CPU and checks by brute force that every step of every tile is computed once.
//
// The last `spread` tiles are cut along K into as many equal parts as there are units (stream-K): a unit gets a range of their
// steps, of one tile or of several. The tiles before them are dealt whole, one after the other. spread = 0: persistent, whole
// tiles. spread = tiles, and more units than tiles: split-K. Where the spread tiles have fewer steps than there are units, the last
// units get none of them: a unit without a step would be waited for, as it would be counted among the sharers of a tile.
#pragma once
#include "layout.cuh"

struct Piece {
  int tile, begin, end; // steps begin <= step < end of the tile; end = 0: no piece
};

// The units that get a part of the spread tiles: at most as many as those have steps.
ANYWHERE constexpr int sharing_units(int spread, int steps, int units) {
  const int64_t all = static_cast<int64_t>(spread) * steps;
  return all < units ? static_cast<int>(all) : units;
}
ANYWHERE constexpr int first_step(int spread, int steps, int unit, int units) {
  const int sharing = sharing_units(spread, steps, units);
  const int64_t all = static_cast<int64_t>(spread) * steps;
  return static_cast<int>(unit < sharing ? all * unit / sharing : all);
}
// The unit whose range holds a step: the last that begins no later.
ANYWHERE constexpr int unit_of(int spread, int steps, int step, int units) {
  const int64_t all = static_cast<int64_t>(spread) * steps;
  return static_cast<int>(((static_cast<int64_t>(step) + 1) * sharing_units(spread, steps, units) - 1) / all);
}

struct Sharers {
  int first, count; // the units that compute parts of a tile
};
// `tile`: counted from the first that is spread.
ANYWHERE constexpr Sharers sharers_of(int spread, int steps, int tile, int units) {
  const int first = unit_of(spread, steps, tile * steps, units);
  return Sharers{first, unit_of(spread, steps, (tile + 1) * steps - 1, units) - first + 1};
}
// A unit shares at most two tiles: the one in which its range begins (slot 0) and the one in which it ends (slot 1).
ANYWHERE constexpr int slot_of(int spread, int steps, int tile, int unit, int units) {
  return first_step(spread, steps, unit, units) < tile * steps ? 1 : 0;
}

// Where the sums lie: a part for each slot of each unit, in it one for each block of the cluster, in that one for each consumer.
// general.py allocates 2 * units * cluster * consumers of them.
ANYWHERE constexpr int64_t part_index(int unit, int slot, int cluster, int rank, int consumers, int consumer) {
  return ((static_cast<int64_t>(unit) * 2 + slot) * cluster + rank) * consumers + consumer;
}
// The counter of a shared tile's arrivals, of the same consumer in the same block of every unit's cluster.
ANYWHERE constexpr int counter_index(int tile, int cluster, int rank, int consumers, int consumer) {
  return (tile * cluster + rank) * consumers + consumer;
}

// Which row of a warpgroup's 64, and which column, a thread's accumulators i and i + 1 are of, i even (hopper.cuh).
ANYWHERE constexpr int sum_row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + (i & 2) * 4; }
ANYWHERE constexpr int sum_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2; }

// Where K is cut into equal numbers of parts of all tiles, the sums can also lie as the threads hold them: another kernel adds them,
// with all multiprocessors (add_parts.cu). A part has all tiles, row by row of tiles; a tile its rows by 64; these have four
// accumulators of each of 128 threads, then the next four, so that a warp writes and reads whole lines. The unit is these four.
ANYWHERE constexpr int64_t apart_index(int part, int tiles, int tile, int tile_m, int tile_n, int rows_64) {
  const int64_t of_tile = (static_cast<int64_t>(part) * tiles + tile) * (tile_m * tile_n / 4);
  return of_tile + rows_64 * (tile_n / 8 * 128);
}
struct Four {
  int row, column; // in its tile, of the first and, beside it, the second; the others are eight rows below
};
ANYWHERE constexpr Four four_of(int index, int tile_n) {
  const int thread = index % 128, i = index / 128 % (tile_n / 8) * 4, rows_64 = index / (tile_n / 8 * 128);
  return Four{rows_64 * 64 + sum_row(thread, i), sum_column(thread, i)};
}

// Whether an arrival, which found `before` others, is the last: it adds the parts up, and sets the counter back to 0.
ANYWHERE constexpr bool last_to_arrive(int before, Sharers sharers) { return before == sharers.count - 1; }

class Walk {
  int tiles_, spread_, steps_, unit_, units_, at_, end_, tile_;

public:
  ANYWHERE constexpr Walk(int tiles, int spread, int steps, int unit, int units)
      : tiles_(tiles), spread_(spread), steps_(steps), unit_(unit), units_(units),
        at_(first_step(spread, steps, unit, units)), end_(first_step(spread, steps, unit + 1, units)), tile_(unit) {}

  // The next piece; the shared tiles come first, so that whole tiles end the kernel evenly.
  ANYWHERE constexpr Piece next() {
    if (at_ < end_) {
      const int tile = at_ / steps_, begin = at_ - tile * steps_;
      const int left = end_ - at_, end = begin + left < steps_ ? begin + left : steps_;
      at_ += end - begin;
      return Piece{tiles_ - spread_ + tile, begin, end};
    }
    const int tile = tile_;
    if (tile >= tiles_ - spread_) return Piece{0, 0, 0};
    tile_ += units_;
    return Piece{tile, 0, steps_};
  }
};
