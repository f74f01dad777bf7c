"""The all-reduces' own source on the CPU: both ranks, many epochs, and a rank that lags.

What peer.cuh does by instructions of the GPU is done with C++'s atomics here; the rest is the text
of the kernels. Words are integers, so sums are exact.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hgemm import compiled
from tests.support.tensor_parallel import HOST, KERNELS

EPOCHS, WORDS = 40, 24

RUN = r"""
static u32 word(int rank, int epoch, int i) { return (1u + rank) * 1000003u * epoch + 17u * i; }
struct Memory {
  std::vector<u32> mine, sum;
  std::vector<u32> flags = std::vector<u32>(2 * BLOCKS), epochs = std::vector<u32>(BLOCKS);
  std::vector<ulonglong2> inbox;  // large enough for either layout
};
static int play(int rank, Memory* ranks, int words, int epochs, int lagging) {
  int wrong = 0;
  Memory &own = ranks[rank], &other = ranks[1 - rank];
  for (int epoch = 1; epoch <= epochs; epoch++) {
    for (int i = 0; i < 4 * words; i++) own.mine[i] = word(rank, epoch, i), own.sum[i] = 0;
    std::vector<Barrier> barriers(BLOCKS);
    std::vector<std::thread> threads;
    for (int t = 0; t < BLOCKS * THREADS; t++)
      threads.emplace_back([&, t] {
        blockIdx.x = t / THREADS, threadIdx.x = t % THREADS, barrier = &barriers[t / THREADS];
        lag = rank == 1 ? lagging : 0;
        LAUNCH;
      });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < 4 * words; i += STRIDE)
      wrong += own.sum[i] != word(0, epoch, i) + word(1, epoch, i);
  }
  return wrong;
}
extern "C" int run(int words, int epochs, int lagging) {
  Memory ranks[2];
  for (auto& memory : ranks) {
    memory.mine.resize(4 * words), memory.sum.resize(4 * words);
    memory.inbox = std::vector<ulonglong2>(4 * words);
  }
  int wrong[2];
  std::thread first([&] { wrong[0] = play(0, ranks, words, epochs, lagging); });
  wrong[1] = play(1, ranks, words, epochs, lagging);
  first.join();
  return wrong[0] + wrong[1];
}
"""
FLAGGED = (
    "{name}_all_reduce((uint4*)own.mine.data(), (uint4*)own.sum.data(), (uint4*)other.inbox.data(),"
    " (uint4*)own.inbox.data(), other.flags.data(), own.flags.data(), own.epochs.data(),"
    " words{rank})"
)
PACKED = (
    "packed_one_shot_all_reduce((u64*)own.mine.data(), (u64*)own.sum.data(), other.inbox.data(),"
    " own.inbox.data(), own.epochs.data(), 2 * words)"
)
LAUNCHES = {
    "one_shot": FLAGGED.format(name="one_shot", rank=""),
    "two_shot": FLAGGED.format(name="two_shot", rank=", rank"),
    "packed": PACKED,
}

FENCED = """
#define __device__
#define __forceinline__ static
static u64 __ldcg(const u64* at) { return *at; }
%s
static void fenced(const u64* mine, u64* sum, u64* their_inbox, const u64* inbox, u32* their_flags,
                   const u32* flags, u32* epochs) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const int at = blockIdx.x * THREADS + threadIdx.x;
  const int place = (epoch & 1) * BLOCKS * THREADS + at;
  send_flagged(their_inbox + place, mine[at], their_flags, epoch);
  sum[at] = sum_of(mine[at], receive_flagged(inbox + place, flags, epoch));
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}
#define LAUNCH fenced((u64*)own.mine.data(), (u64*)own.sum.data(), (u64*)other.inbox.data(), \
                      (u64*)own.inbox.data(), other.flags.data(), own.flags.data(), \\
                      own.epochs.data())
#define STRIDE 2
"""
"""What add_norm.cu does in a launch with FENCED: a word per thread, in the order of the kernel."""

Run = Callable[[int, int, int], int]


def library(folder: Path, name: str, change: tuple[str, str] = ("", "")) -> Run:
    """Return the kernel as a function; ``change``: what of its text is replaced by what."""
    text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    assert change[0] in text
    text = text.replace('#include "peer.cuh"', "").replace(*change)
    # The high half of a packed 8-byte sum gets the carry of the low half.
    stride = 2 if name == "packed" else 1
    macros = f"#define LAUNCH {LAUNCHES[name]}\n#define STRIDE {stride}\n"
    play: Run = compiled(folder, HOST + text + macros + RUN, KERNELS).run
    return play


@pytest.mark.parametrize("lagging", [0, 200])
@pytest.mark.parametrize("name", LAUNCHES)
def test_both_ranks_have_every_sum(tmp_path: Path, name: str, lagging: int) -> None:
    assert library(tmp_path, name)(WORDS, EPOCHS, lagging) == 0


@pytest.mark.parametrize("lagging", [0, 200])
def test_both_ranks_have_every_sum_of_the_fused_kernel(tmp_path: Path, lagging: int) -> None:
    text = (KERNELS / "add_norm.cu").read_text(encoding="utf-8")
    parts = re.findall(r"^__device__ [^\n]* (?:send|receive)_flagged\(.*?^}\n", text, re.S | re.M)
    assert len(parts) == 2
    assert text.index("SEND(place, total") < text.index("RECEIVE(place, epoch))")
    play: Run = compiled(tmp_path, HOST + FENCED % "".join(parts) + RUN, KERNELS).run
    assert play(3, EPOCHS, lagging) == 0


@pytest.mark.parametrize(
    ("name", "change"),
    [("one_shot", ("(epoch & 1)", "0")), ("two_shot", ("inbox[half + i]", "inbox[i]"))],
    ids=["one slot", "both shots in one half"],
)
def test_a_lagging_rank_would_sum_what_comes_next(
    tmp_path: Path, name: str, change: tuple[str, str]
) -> None:
    assert library(tmp_path, name, change)(WORDS, EPOCHS, 2000) > 0


def test_the_count_of_an_epoch_comes_from_memory() -> None:
    for name in ("one_shot", "two_shot", "packed", "add_norm"):
        text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
        assert "epochs[blockIdx.x] + 1" in text
        assert "epochs[blockIdx.x] = epoch" in text


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
@pytest.mark.parametrize(
    ("name", "macros"),
    [
        *((path.stem, []) for path in sorted(KERNELS.glob("*.cu"))),
        ("add_norm", ["-DFUSED"]),
        ("add_norm", ["-DFUSED", "-DFENCED"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value) or "plain",
)
def test_no_kernel_spills(tmp_path: Path, name: str, macros: list[str]) -> None:
    target = "-gencode=arch=compute_90,code=sm_90"
    argv = ["nvcc", "-std=c++17", "-cubin", target, "-Xptxas=-v", *macros]
    argv += ["-o", str(tmp_path / "made.cubin"), str(KERNELS / f"{name}.cu")]
    done = subprocess.run(argv, check=True, timeout=120, capture_output=True, text=True)
    told = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill", done.stdout + done.stderr)
    assert told
    assert {int(size) for pair in told for size in pair} == {0}
