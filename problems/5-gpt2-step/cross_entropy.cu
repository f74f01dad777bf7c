// A row of logits becomes its cross entropy's gradient in place; device memory is read once.
//
// A block holds its row in shared memory, which TMA fills in parts; two blocks share a multiprocessor, so one loads while
// the other computes. A thread's running maximum rarely grows, so an element takes two exponentials in all, one for the
// sum and one for the gradient: powers of two, which the hardware has.
#include <cuda_bf16.h>
#include <stdint.h>

#include "hopper.cuh"

namespace {
constexpr int THREADS = LAUNCH_THREADS, WARPS = THREADS / 32;
constexpr int PART = 8192, MOST_PARTS = 8;  // elements, and parts of a row
constexpr int VECTOR = 8;                   // elements in 16 bytes
constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f;
constexpr float LOWEST = -1e30f;  // below any logit, and finite: two infinities have no difference

struct Sum {  // of 2^(x - most), x in units of ln 2
  float most, total;
};

__device__ float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ Sum joined(Sum a, Sum b) {
  float most = fmaxf(a.most, b.most);
  return {most, a.total * power(a.most - most) + b.total * power(b.most - most)};
}

__device__ void unpack(uint4 raw, float (&x)[VECTOR]) {
  uint32_t pairs[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < VECTOR / 2; ++i) {
    x[2 * i] = __uint_as_float(pairs[i] << 16);
    x[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
  }
}

__device__ uint32_t packed(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<uint32_t&>(pair);
}

__device__ void fetch(uint32_t to, const __nv_bfloat16* from, int bytes, uint32_t barrier) {
  barrier_expect(barrier, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
}  // namespace

// logits: [gridDim.x, columns] in bf16, contiguous, columns a multiple of 8; targets, losses: [gridDim.x].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    cross_entropy(__nv_bfloat16* logits, const int64_t* targets, float* losses, float scale, int columns) {
  extern __shared__ __align__(128) uint4 row[];
  __shared__ uint64_t barriers[MOST_PARTS];
  __shared__ Sum sums[WARPS];
  const int parts = (columns + PART - 1) / PART, thread = threadIdx.x;
  const uint32_t row_address = shared_address(row), barrier = shared_address(barriers);
  logits += int64_t(blockIdx.x) * columns;

  if (thread == 0) {
    for (int part = 0; part < parts; ++part) barrier_init(barrier + 8 * part, 1);
    barrier_init_fence();
    for (int part = 0; part < parts; ++part)
      fetch(row_address + 2 * PART * part, logits + part * PART, 2 * min(PART, columns - part * PART),
            barrier + 8 * part);
  }
  const int target = int(targets[blockIdx.x]);
  __syncthreads();

  Sum sum{LOWEST, 0.f};
  for (int part = 0; part < parts; ++part) {
    barrier_wait(barrier + 8 * part, 0);
    const int end = min((part + 1) * PART, columns) / VECTOR;
#pragma unroll 2
    for (int i = part * PART / VECTOR + thread; i < end; i += THREADS) {
      float x[VECTOR];
      unpack(row[i], x);
      float most = fmaxf(fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3])), fmaxf(fmaxf(x[4], x[5]), fmaxf(x[6], x[7])));
      most *= LOG2_E;
      if (most > sum.most) {
        sum.total *= power(sum.most - most);
        sum.most = most;
      }
#pragma unroll
      for (float each : x) sum.total += power(fmaf(each, LOG2_E, -sum.most));
    }
  }
#pragma unroll
  for (int apart = 16; apart; apart /= 2) {
    Sum other{__shfl_xor_sync(~0u, sum.most, apart), __shfl_xor_sync(~0u, sum.total, apart)};
    sum = joined(sum, other);
  }
  if (thread % 32 == 0) sums[thread / 32] = sum;
  __syncthreads();
  sum = sums[0];
#pragma unroll
  for (int warp = 1; warp < WARPS; ++warp) sum = joined(sum, sums[warp]);
  const float log2_sum = sum.most + log2f(sum.total), shift = log2f(scale) - log2_sum;

#pragma unroll 2
  for (int i = thread; i < columns / VECTOR; i += THREADS) {
    float x[VECTOR], g[VECTOR];
    unpack(row[i], x);
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) g[j] = power(fmaf(x[j], LOG2_E, shift));
    if (i == target / VECTOR) {
      losses[blockIdx.x] = log2_sum * LN_2 - __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[target]);
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) g[j] -= j == target % VECTOR ? scale : 0.f;
    }
    uint4 all{packed(g[0], g[1]), packed(g[2], g[3]), packed(g[4], g[5]), packed(g[6], g[7])};
    __stcs(reinterpret_cast<uint4*>(logits) + i, all);
  }
}
