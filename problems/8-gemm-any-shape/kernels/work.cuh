// Which steps of K of which tiles a unit (a block, or a cluster of blocks) computes. Pure integer arithmetic without CUDA, as in
// layout.cuh: a test compiles it for the CPU and checks by brute force that every step of every tile is computed once.
//
// The last `spread` tiles are cut along K into as many equal parts as there are units (stream-K): a unit gets a range of their
// steps, of one tile or of several. The tiles before them are dealt whole, one after the other. spread = 0: persistent, whole
// tiles. spread = tiles, and more units than tiles: split-K. Each unit has to get at least one step.
#pragma once
#include "layout.cuh"

struct Piece {
  int tile, begin, end; // steps begin <= step < end of the tile; end = 0: no piece
};

ANYWHERE constexpr int first_step(int spread, int steps, int unit, int units) {
  return static_cast<int>(static_cast<int64_t>(spread) * steps * unit / units);
}
// The unit whose range holds a step: the last that begins no later.
ANYWHERE constexpr int unit_of(int spread, int steps, int step, int units) {
  return static_cast<int>(((static_cast<int64_t>(step) + 1) * units - 1) / (static_cast<int64_t>(spread) * steps));
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
