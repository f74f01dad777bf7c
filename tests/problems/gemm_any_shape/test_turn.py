"""Blocks of a cluster load what they share in turns: each step once, when all have room for it.

The kernels' own arithmetic, compiled for the CPU. A cluster is played in random orders: a block
makes a stage ready, or loads when it is its turn, or reads a stage, whichever it can.
"""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hgemm import compiled_header

EXPORTS = """
#include <random>
#include <vector>
#include "turn.cuh"

struct Barrier {
  int arrivals = 0, phase = 0, step = -1;
};
template <int SHARERS, int STAGES> struct Block {
  Turn<SHARERS, STAGES> telling, loading;
  int told = 0, looked = 0, read = 0; // steps
  std::vector<int> loaded;
  Barrier ready[STAGES];
};
// Returns what went wrong: arrivals of two steps at a barrier, loads into a stage not ready, or of
// a step again. -1 if the blocks wait for each other.
template <int SHARERS, int STAGES> int play(int steps, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Block<SHARERS, STAGES>> blocks(SHARERS);
  for (auto& block : blocks) block.loaded.resize(steps);
  int amiss = 0;
  const auto tell = [&](Block<SHARERS, STAGES>& block) {
    if (block.told == steps || block.told - block.read == STAGES) return false;
    Barrier& at = blocks[block.telling.sharer].ready[block.telling.slot];
    amiss += at.arrivals > 0 && at.step != block.told;
    at.step = block.told++;
    if (++at.arrivals == SHARERS) at.arrivals = 0, at.phase ^= 1;
    block.telling.next();
    return true;
  };
  const auto load = [&](Block<SHARERS, STAGES>& block, int mine) {
    if (block.looked == steps) return false;
    if (block.loading.sharer == mine) {
      const Barrier& ready = block.ready[block.loading.slot];
      if (ready.phase == block.loading.phase) return false;
      for (auto& each : blocks) {
        amiss += each.told <= block.looked || block.looked - each.read >= STAGES;
        amiss += each.loaded[block.looked]++;
      }
    }
    ++block.looked;
    block.loading.next();
    return true;
  };
  const auto read = [&](Block<SHARERS, STAGES>& block) {
    return block.read < steps && block.loaded[block.read] && ++block.read;
  };
  for (;;) {
    const int begin = random() % (3 * SHARERS), count = 3 * SHARERS;
    bool moved = false;
    for (int i = 0; i < count && !moved; ++i) {
      const int which = (begin + i) % count, mine = which / 3;
      auto& block = blocks[mine];
      moved = which % 3 == 0 ? tell(block) : which % 3 == 1 ? load(block, mine) : read(block);
    }
    if (moved) continue;
    for (auto& block : blocks)
      if (block.read < steps) return -1;
    return amiss;
  }
}
extern "C" {
int c_play_2_2(int steps, unsigned seed) { return play<2, 2>(steps, seed); }
int c_play_2_3(int steps, unsigned seed) { return play<2, 3>(steps, seed); }
int c_play_2_8(int steps, unsigned seed) { return play<2, 8>(steps, seed); }
int c_play_4_3(int steps, unsigned seed) { return play<4, 3>(steps, seed); }
int c_play_4_6(int steps, unsigned seed) { return play<4, 6>(steps, seed); }
}
"""


@pytest.fixture(scope="module")
def turn(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled_header(tmp_path_factory.mktemp("turn"), "turn.cuh", EXPORTS)


@pytest.mark.parametrize("blocks", ["2_2", "2_3", "2_8", "4_3", "4_6"])
@given(steps=st.integers(0, 60), seed=st.integers(0, 2**32 - 1))
def test_every_step_is_loaded_once_when_all_are_ready(
    turn: ctypes.CDLL, blocks: str, steps: int, seed: int
) -> None:
    assert getattr(turn, f"c_play_{blocks}")(steps, ctypes.c_uint(seed)) == 0
