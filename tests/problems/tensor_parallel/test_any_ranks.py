"""All-reduces over any number of ranks: their schedules, and the kernel's own source on the CPU."""

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.support.hgemm import compiled
from tests.support.tensor_parallel import HOST, KERNELS

EPOCHS, WORDS = 6, 50
NAMES = ("one-shot", "two-shot", "ring", "tree", "doubling")
RUN = r"""
static u32 word(int rank, int epoch, int i) { return (1u + rank) * 1000003u * epoch + 17u * i; }
struct Memory {
  std::vector<u32> mine, sum, flags, epochs = std::vector<u32>(BLOCKS);
  std::vector<uint4> inbox;
};
struct Job { int ranks, words, half, most_flags, epochs, lagging; };
static std::vector<Memory> all;
static std::vector<uint4*> inboxes;
static std::vector<u32*> flags;
static int play(int rank, const Job& job, const Step* steps, int count) {
  int wrong = 0;
  Memory& own = all[rank];
  for (int epoch = 1; epoch <= job.epochs; epoch++) {
    for (int i = 0; i < 4 * job.words; i++) own.mine[i] = word(rank, epoch, i), own.sum[i] = 0;
    std::vector<Barrier> barriers(BLOCKS);
    std::vector<std::thread> threads;
    for (int t = 0; t < BLOCKS * THREADS; t++)
      threads.emplace_back([&, t] {
        blockIdx.x = t / THREADS, threadIdx.x = t % THREADS, barrier = &barriers[t / THREADS];
        lag = rank == job.ranks - 1 ? job.lagging : 0;
        any_ranks_all_reduce((uint4*)own.mine.data(), (uint4*)own.sum.data(), inboxes.data(),
                             flags.data(), steps, own.epochs.data(), count, job.words, job.half,
                             rank, job.ranks, BLOCKS);
      });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < 4 * job.words; i++) {
      u32 sum = 0;
      for (int other = 0; other < job.ranks; other++) sum += word(other, epoch, i);
      wrong += own.sum[i] != sum;
    }
  }
  return wrong;
}
extern "C" int run(const int* steps, const int* counts, int ranks, int words, int half,
                   int most_flags, int epochs, int lagging) {
  const Job job{ranks, words, half, most_flags, epochs, lagging};
  all = std::vector<Memory>(ranks), inboxes.clear(), flags.clear();
  for (auto& memory : all) {
    memory.mine.resize(4 * words), memory.sum.resize(4 * words);
    memory.inbox.resize(2 * half), memory.flags.resize(most_flags * BLOCKS);
    inboxes.push_back(memory.inbox.data()), flags.push_back(memory.flags.data());
  }
  std::vector<int> wrong(ranks);
  std::vector<std::thread> played;
  const Step* at = (const Step*)steps;
  for (int rank = 0; rank < ranks; at += counts[rank++])
    played.emplace_back([&, rank, at] { wrong[rank] = play(rank, job, at, counts[rank]); });
  for (auto& thread : played) thread.join();
  int total = 0;
  for (int each : wrong) total += each;
  return total;
}
"""

Wrong = Callable[[Any, int, int], int]


@pytest.fixture
def schedules(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["schedules"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 8])
def test_every_rank_ends_with_every_sum(schedules: ModuleType, name: str, ranks: int) -> None:
    if name == "doubling" and ranks in (3, 7):
        with pytest.raises(ValueError, match="power of two"):
            schedules.ALGORITHMS[name](ranks, 8)
        return
    for words in (1, 8, 21):
        own = [[10**rank * (word + 1) for word in range(words)] for rank in range(ranks)]
        wanted = [sum(column) for column in zip(*own, strict=True)]
        assert (
            replayed(schedules, schedules.ALGORITHMS[name](ranks, words), own) == [wanted] * ranks
        )


def replayed(schedules: ModuleType, written: Any, own: list[list[int]]) -> list[list[int]]:
    """Do the steps of all ranks, each as soon as what it waits for is there."""
    ranks, left = len(own), [list(steps) for steps in written.steps]
    work, inbox = [list(row) for row in own], [dict[int, int]() for _ in own]
    come: list[set[int]] = [set() for _ in own]
    while any(left):
        before = sum(map(len, left))
        for rank in range(ranks):
            while left[rank] and ready(schedules, left[rank][0], come[rank], ranks):
                done(schedules, left[rank].pop(0), rank, work, (inbox, come))
        assert sum(map(len, left)) < before, "all ranks wait for each other"
    return work


def ready(schedules: ModuleType, step: Any, come: set[int], ranks: int) -> bool:
    if step.kind == schedules.SEND:
        return True
    slots = ranks - 1 if step.kind == schedules.ADD_ALL else 1
    return set(range(step.flag, step.flag + slots)) <= come


def done(
    schedules: ModuleType, step: Any, rank: int, work: list[list[int]], memory: tuple[Any, Any]
) -> None:
    inbox, come = memory
    for at in range(step.count):
        word = step.first + at
        if step.kind == schedules.SEND:
            assert step.place + at not in inbox[step.peer], "two messages in one slot"
            inbox[step.peer][step.place + at] = work[rank][word]
        elif step.kind == schedules.PUT:
            work[rank][word] = inbox[rank][step.place + at]
        else:
            slots = len(work) - 1 if step.kind == schedules.ADD_ALL else 1
            places = [step.place + slot * step.count + at for slot in range(slots)]
            work[rank][word] += sum(inbox[rank][place] for place in places)
    if step.kind == schedules.SEND:
        come[step.peer].add(step.flag)


@pytest.mark.parametrize(("name", "sent"), [("one-shot", 3.0), ("two-shot", 1.5), ("ring", 1.5)])
def test_a_rank_sends_the_messages_of_its_law(
    schedules: ModuleType, name: str, sent: float
) -> None:
    for steps in schedules.ALGORITHMS[name](4, 64).steps:
        words = sum(step.count for step in steps if step.kind == schedules.SEND)
        assert words == sent * 64


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    text = (KERNELS / "any_ranks.cu").read_text(encoding="utf-8").replace('#include "peer.cuh"', "")
    return compiled(tmp_path_factory.mktemp("any"), HOST + text + RUN, KERNELS).run


@pytest.mark.parametrize("lagging", [0, 200])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_the_kernel_sums_on_every_rank(
    schedules: ModuleType, run: Any, name: str, ranks: int, lagging: int
) -> None:
    assert wrong(run, schedules.ALGORITHMS[name](ranks, WORDS), lagging) == 0


def test_a_step_that_is_left_out_would_show(schedules: ModuleType, run: Any) -> None:
    written = schedules.ALGORITHMS["ring"](2, WORDS)
    for steps in written.steps:
        del steps[1]  # the wait that adds
    assert wrong(run, written, 0) > 0


def wrong(run: Any, written: Any, lagging: int) -> int:
    """Return how many words of all ranks and epochs are not the sum."""
    fields = ("kind", "peer", "first", "count", "place", "flag")
    flat = [getattr(step, name) for steps in written.steps for step in steps for name in fields]
    counts = [len(steps) for steps in written.steps]
    array = ctypes.c_int * len(flat)
    sizes = (len(counts), WORDS, max(written.words), max(written.flags), EPOCHS, lagging)
    found: int = run(array(*flat), (ctypes.c_int * len(counts))(*counts), *sizes)
    return found
