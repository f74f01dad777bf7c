"""Where problem 7 lies, and what its kernels need in order to run on a CPU."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "7-tensor-parallel-decode"
KERNELS = FOLDER / "kernels"
HOST = r"""
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __launch_bounds__(threads)
typedef unsigned int u32;
typedef unsigned long long u64;
struct uint4 { u32 x, y, z, w; };
struct ulonglong2 { std::atomic<u64> x, y; };
struct Dim { int x; };
struct Barrier {
  std::mutex mutex;
  std::condition_variable all;
  int there = 0, turn = 0;
  void wait(int threads) {
    std::unique_lock<std::mutex> lock(mutex);
    const int mine = turn;
    if (++there == threads) {
      there = 0, turn++;
      all.notify_all();
    } else {
      all.wait(lock, [&] { return turn != mine; });
    }
  }
};
constexpr int BLOCKS = 2, THREADS = 3;
static const Dim blockDim{THREADS}, gridDim{BLOCKS};
static thread_local Dim blockIdx, threadIdx;
static thread_local Barrier* barrier;
static thread_local int lag;
static void __syncthreads() { barrier->wait(THREADS); }
static void pause_here() { if (lag) std::this_thread::sleep_for(std::chrono::microseconds(lag)); }
static std::atomic<u32>& atomic(const u32* at) { return *(std::atomic<u32>*)at; }
static void send_release(u32* flag, u32 epoch) {
  atomic(flag).store(epoch, std::memory_order_release);
}
static void wait_acquire(const u32* flag, u32 epoch) {
  while ((int)(atomic(flag).load(std::memory_order_acquire) - epoch) < 0) std::this_thread::yield();
  pause_here();  // the other rank may run ahead now
}
static void send_packed(ulonglong2* at, u64 data, u32 epoch) {
  at->x.store((data & 0xffffffffull) | (u64)epoch << 32, std::memory_order_relaxed);
  at->y.store(data >> 32 | (u64)epoch << 32, std::memory_order_relaxed);
}
static std::atomic<bool> in_vain{false};  // a word never came: the run is wrong, and may end
static u64 wait_packed(const ulonglong2* at, u32 epoch) {
  pause_here();
  const auto begun = std::chrono::steady_clock::now();
  while (!in_vain) {
    const auto waited = std::chrono::steady_clock::now() - begun;
    const u64 low = at->x.load(std::memory_order_relaxed);
    const u64 high = at->y.load(std::memory_order_relaxed);
    if ((u32)(low >> 32) == epoch && (u32)(high >> 32) == epoch)
      return (low & 0xffffffffull) | high << 32;
    if (waited > std::chrono::seconds(5)) in_vain = true;
    if (waited < std::chrono::milliseconds(10)) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}
struct Total {
  u64 sum = 0;
  void add(u64 word) { sum += word; }
  u64 rounded() const { return sum; }
};
static uint4 __ldcg(const uint4* at) { return *at; }
static u64 sum_of(u64 a, u64 b) { return a + b; }
static uint4 sum_of(uint4 a, uint4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
"""
"""Blocks and threads of CUDA as threads of C++, and peer.cuh by C++'s atomics."""
