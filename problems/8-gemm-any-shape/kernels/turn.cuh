// Whose turn it is to load what blocks share. Pure integer arithmetic without CUDA, as in work.cuh: a test compiles it for the CPU and
// plays clusters whose blocks run ahead of each other, in random orders.
#pragma once
#include "layout.cuh"

// Of each step of K: which of the SHARERS loads, and which of its barriers, as many as stages, says that all of them are ready. A
// block uses its barriers in turns. A sharer is at most so many steps ahead of another, so none arrives at a barrier that is still in use.
template <int SHARERS, int BARRIERS> struct Turn {
  int sharer = 0, slot = 0, phase = 0;
  ANYWHERE constexpr void next() {
    if (++sharer < SHARERS) return;
    sharer = 0;
    if (++slot == BARRIERS) slot = 0, phase ^= 1;
  }
};
