"""All-reduces in packed words over any number of ranks: the kernels' own source on the CPU."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.hgemm import compiled
from tests.support.tensor_parallel import HOST, KERNELS

EPOCHS, WORDS = 6, 24
RUN = r"""
static u64 word(int rank, int epoch, int i) { return (1u + rank) * 1000003u * epoch + 17u * i; }
struct Memory {
  std::vector<u64> mine, sum;
  std::vector<u32> epochs = std::vector<u32>(BLOCKS);
  std::vector<ulonglong2> inbox;
};
static std::vector<Memory> all;
static std::vector<ulonglong2*> inboxes;
static int play(int rank, int ranks, int words, int epochs, int lagging, int shots) {
  int wrong = 0;
  Memory& own = all[rank];
  for (int epoch = 1; epoch <= epochs; epoch++) {
    for (int i = 0; i < words; i++) own.mine[i] = word(rank, epoch, i), own.sum[i] = 0;
    std::vector<Barrier> barriers(BLOCKS);
    std::vector<std::thread> threads;
    for (int t = 0; t < BLOCKS * THREADS; t++)
      threads.emplace_back([&, t] {
        blockIdx.x = t / THREADS, threadIdx.x = t % THREADS, barrier = &barriers[t / THREADS];
        lag = rank == ranks - 1 ? lagging : 0;
        (shots == 1 ? any_packed_one_shot : any_packed_two_shot)(
            own.mine.data(), own.sum.data(), inboxes.data(), own.epochs.data(), words, rank, ranks);
      });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < words; i++) {
      u64 sum = 0;
      for (int other = 0; other < ranks; other++) sum += word(other, epoch, i);
      wrong += own.sum[i] != sum;
    }
  }
  return wrong;
}
extern "C" int run(int ranks, int words, int epochs, int lagging, int shots) {
  all = std::vector<Memory>(ranks), inboxes.clear(), in_vain = false;
  for (auto& memory : all) {
    memory.mine.resize(words), memory.sum.resize(words);
    memory.inbox = std::vector<ulonglong2>(2 * ranks * words);
    inboxes.push_back(memory.inbox.data());
  }
  std::vector<int> wrong(ranks);
  std::vector<std::thread> played;
  for (int rank = 0; rank < ranks; rank++)
    played.emplace_back(
        [&, rank] { wrong[rank] = play(rank, ranks, words, epochs, lagging, shots); });
  for (auto& thread : played) thread.join();
  int total = 0;
  for (int each : wrong) total += each;
  return total;
}
"""


LAGGING_US, LATE_US = 200, 50_000  # late: longer than a busy machine holds a thread up


def library(folder: Path, change: tuple[str, str] = ("", "")) -> Any:
    """Return the kernels as a function; ``change``: what of their text is replaced by what."""
    text = (KERNELS / "any_packed.cu").read_text(encoding="utf-8")
    assert change[0] in text
    return compiled(
        folder, HOST + text.replace('#include "peer.cuh"', "").replace(*change) + RUN, KERNELS
    ).run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return library(tmp_path_factory.mktemp("packed"))


@pytest.mark.parametrize("lagging", [0, LAGGING_US])
@pytest.mark.parametrize("shots", [1, 2])
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_every_rank_has_every_sum(run: Any, ranks: int, shots: int, lagging: int) -> None:
    assert run(ranks, WORDS, EPOCHS, lagging, shots) == 0


@pytest.mark.parametrize(
    ("shots", "change"),
    [(1, ("(epoch & 1)", "0")), (2, (" + count", ""))],
    ids=["one slot", "parts and sums in one place"],
)
def test_a_lagging_rank_would_sum_something_else(
    tmp_path: Path, shots: int, change: tuple[str, str]
) -> None:
    assert library(tmp_path, change)(2, 12, 3, LATE_US, shots) > 0
