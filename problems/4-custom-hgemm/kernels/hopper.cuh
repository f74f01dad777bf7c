// Thin wrappers of the PTX of sm_90a: mbarrier, TMA, wgmma, setmaxnreg, clusters.
// How the operands lie in shared memory is in layout.cuh.
#pragma once
#include <cuda.h> // CUtensorMap

#include "common.cuh"

constexpr int TILE_K = 64; // 128 bytes of A's row: one swizzle span

// ---- mbarrier ----------------------------------------------------------------------------------------
// A barrier counts arrivals and outstanding bytes of the current phase; when both are at their goal the phase
// flips. wait(parity) returns once the phase of that parity is over. A fresh barrier counts as "the phase
// before it, of parity 1, is over": so a producer's first wait, on parity 1, falls through.
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes initialised barriers visible to TMA and to the other blocks of the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// One arrival that also announces bytes which TMA will deliver.
__device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The same barrier of another block of the cluster (or of this one: `block` is a rank in the cluster). Not
// .release.cluster: that costs a fence of the whole GPU's memory (MEMBAR.ALL.GPU) at each step, and there is nothing to
// publish, only reads by wgmma that are over. CUTLASS's ClusterBarrier does the same.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t block) {
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier), "r"(block)
               : "memory");
}
__device__ __forceinline__ bool barrier_try_wait(uint32_t barrier, uint32_t parity) {
  uint32_t over; // the hardware suspends the thread for a while before it returns false
  asm volatile("{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; selp.u32 %0, 1, 0, over; }"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
#ifdef WATCHDOG // for debugging: a deadlock becomes an error after WATCHDOG milliseconds
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  while (!barrier_try_wait(barrier, parity)) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - begin > WATCHDOG * 1000000ull) __trap();
  }
#else
  while (!barrier_try_wait(barrier, parity)) {
  }
#endif
}
// bar.sync of one warpgroup; 0 is __syncthreads', so ids start at 1.
__device__ __forceinline__ void warpgroup_sync(int id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }

// ---- TMA ---------------------------------------------------------------------------------------------
// Coordinates are in elements, x along the contiguous dimension. What lies outside the tensor is read as zero
// (and counted in the barrier's bytes like the rest) and is not written.
__device__ __forceinline__ void tma_load(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y)
               : "memory");
}
// The same box to the same offset, and its bytes to the same barrier, of each block in `blocks` (bit i: rank i).
__device__ __forceinline__ void tma_load_multicast(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y,
                                                   uint16_t blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
               " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
               : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap* map, uint32_t from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from), "r"(x),
               "r"(y)
               : "memory");
}
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until at most PENDING of this thread's groups still read shared memory. With 0 a block may end: their writes are complete
// when the kernel ends.
template <int PENDING> __device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
// TMA and wgmma read shared memory through another path ("proxy") than ordinary stores: each storing thread runs
// this before the barrier after which TMA may read.
__device__ __forceinline__ void async_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- Clusters ----------------------------------------------------------------------------------------
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// A warp arrives as a whole: the thread that issued the loads arrives later than the rest of its warp.
__device__ __forceinline__ void cluster_sync() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ---- Dependent launches ------------------------------------------------------------------------------
// Both do nothing unless launch.py sets the attribute, and are compiled only for a step with PDL.
#ifndef PDL
#define PDL 0
#endif
// Blocks of the next kernel may start once all blocks of this kernel have called this or ended, given room.
__device__ __forceinline__ void let_next_start() {
  if constexpr (PDL) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
// Waits until all previous kernels have ended and their writes are visible. Call it before the first access to global memory.
__device__ __forceinline__ void wait_for_previous() {
  if constexpr (PDL) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// ---- Registers ---------------------------------------------------------------------------------------
// All warps of a warpgroup together; needs __launch_bounds__(threads, 1), else ptxas ignores it (C7508).
template <int COUNT> __device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ __forceinline__ void registers_give() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// ---- wgmma -------------------------------------------------------------------------------------------
// Before the first wgmma, and after anything else touched the accumulators.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Keeps the compiler from reading accumulators before the wait in front of this: it does not know that wgmma is
// asynchronous.
template <int COUNT> __device__ __forceinline__ void accumulators_ready(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// d (+)= a * b of one warpgroup: 64x16 times 16xN, N = twice the accumulators of a thread. The five immediates: the
// signs of a and b, then their order; the last 1 says that B is MN-major.
#define REGISTERS_8(d, i)                                                                                          \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define REGISTERS_32(d, i) REGISTERS_8(d, i), REGISTERS_8(d, i + 8), REGISTERS_8(d, i + 16), REGISTERS_8(d, i + 24)
#define WGMMA(N, NAMES, A, B, ACCUMULATE)                                                                          \
  "{ .reg .pred p; setp.ne.b32 p, " ACCUMULATE ", 0;\n"                                                            \
  "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." ELEMENT_PTX "." ELEMENT_PTX " {" NAMES "}, " A ", " B ", p, 1, 1, 0, 1; }"
#define NAMES_0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_1 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define NAMES_2 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define NAMES_3 "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
__device__ __forceinline__ void wgmma(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA("64", NAMES_0, "%32", "%33", "%34")
               : REGISTERS_32(d, 0)
               : "l"(a), "l"(b), "r"(accumulate));
}
__device__ __forceinline__ void wgmma(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA("128", NAMES_0 "," NAMES_1, "%64", "%65", "%66")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32)
               : "l"(a), "l"(b), "r"(accumulate));
}
__device__ __forceinline__ void wgmma(float (&d)[96], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA("192", NAMES_0 "," NAMES_1 "," NAMES_2, "%96", "%97", "%98")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64)
               : "l"(a), "l"(b), "r"(accumulate));
}
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA("256", NAMES_0 "," NAMES_1 "," NAMES_2 "," NAMES_3, "%128", "%129", "%130")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_32(d, 96)
               : "l"(a), "l"(b), "r"(accumulate));
}

// ---- Storing the accumulators --------------------------------------------------------------------------
// Of the 64 rows, warp w of the warpgroup holds 16w..16w+15; lane l holds in d[4j..4j+3], for columns 8j + 2(l % 4) and
// the next one, row l / 4 (first two) and row l / 4 + 8 (last two).
// Straight to global memory: each instruction writes 8 rows of 16 bytes, half of every 32-byte sector it touches.
template <int COUNT>
__device__ __forceinline__ void store_direct(const float (&d)[COUNT], element* c, int row, int column, int m, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  row += warp * 16 + lane / 4;
  column += lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < COUNT / 4; ++j) {
    const int x = column + 8 * j; // even, as n is: a pair is inside or outside as a whole
    if (x >= n) break;
    if (row < m) *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row) * n + x) = pack(d[4 * j], d[4 * j + 1]);
    if (row + 8 < m)
      *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row + 8) * n + x) = pack(d[4 * j + 2], d[4 * j + 3]);
  }
}
// 64 columns of a warpgroup's 64 rows, as elements, into a box that a TMA store with SWIZZLE_128B reads. stmatrix is the
// inverse of ldmatrix: it stores four 8x8 matrices, here 16 rows by 16 columns, a row of 16 bytes per address; the swizzle
// puts the 8 rows of a matrix in 8 different chunks, so no two meet in a bank.
template <int COUNT>
__device__ __forceinline__ void store_box(const float (&d)[COUNT], int first, uint32_t box) {
#pragma unroll
  for (int j = 0; j < 8; j += 2) {
    const float* v = d + first + 4 * j;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(box + store_offset(threadIdx.x % 128, j)),
                 "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3])), "r"(pack(v[4], v[5])), "r"(pack(v[6], v[7]))
                 : "memory");
  }
}
