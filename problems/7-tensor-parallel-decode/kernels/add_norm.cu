// Add to the residual, then RMSNorm; with FUSED the sum over both ranks on top, in packed words, with
// FENCED, too, in plain words behind a flag a block: half the bytes, and a fence to wait for.
//
// A cluster of eight blocks holds a row of 8192 elements, four a thread, so that eight
// multiprocessors send a row at once. Their sums of squares meet in shared memory, each block's in
// all others', and are added in one order everywhere. They go as st.async, which counts on an mbarrier
// where it arrives: a cluster barrier with release would be a fence, and that waits for the link.
#include "peer.cuh"

#define PARTS 8
#define THREADS 256
#define WORDS (PARTS * THREADS)  // of 8 bytes, a row
#define WARPS (THREADS / 32)

__device__ __forceinline__ float in_block(float value, float* scratch) {
  for (int lanes = 16; lanes; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < WARPS; warp++) total += scratch[warp];
  return total;
}

__device__ __forceinline__ u32 in_shared(const void* at) {
  u32 address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(at));
  return address;
}

__device__ __forceinline__ u32 in_block_of_cluster(u32 address, u32 block) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
  return remote;
}

// One thread prepares the block's mbarrier; all blocks are told that they run and have one.
__device__ __forceinline__ void expect_parts(u32 barrier) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"((u32)(PARTS * sizeof(float)))
                 : "memory");
  }
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void send_part(const float* place, u32 barrier, float value) {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x < PARTS)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
                     in_block_of_cluster(in_shared(place), threadIdx.x)),
                 "f"(value), "r"(in_block_of_cluster(barrier, threadIdx.x))
                 : "memory");
}

__device__ __forceinline__ void wait_for_parts(u32 barrier) {
  u64 begun = 0;
  for (u32 looks = 1;; looks++) {
    u32 there;
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
        " selp.u32 %0, 1, 0, p; }"
        : "=r"(there)
        : "r"(barrier)
        : "memory");
    if (there) return;
    if (looks % LOOKS == 0) begun = expired(begun);
  }
}

#ifdef FENCED
#define SEND(place, word, epoch) send_flagged((u64*)their_inbox + place, word, their_flags, epoch)
#define RECEIVE(place, epoch) receive_flagged((const u64*)inbox + place, flags, epoch)
#else
#define SEND(place, word, epoch) send_packed(their_inbox + place, word, epoch)
#define RECEIVE(place, epoch) wait_packed(inbox + place, epoch)
#endif

// All threads of a block call both; flags: one a block. The release waits until the words are there.
__device__ __forceinline__ void send_flagged(u64* at, u64 word, u32* flags, u32 epoch) {
  *at = word;
  __syncthreads();
  if (threadIdx.x == 0) send_release(flags + blockIdx.x, epoch);
}

__device__ __forceinline__ u64 receive_flagged(const u64* at, const u32* flags, u32 epoch) {
  if (threadIdx.x == 0) wait_acquire(flags + blockIdx.x, epoch);
  __syncthreads();
  return __ldcg(at);
}

// partial: [chunks][rows][8192 / chunks]; residual: [rows][8192], updated; out: [rows][8192].
extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(THREADS)
#ifdef FUSED
    one_shot_all_reduce_add_norm(
        const u64* partial, u64* residual, const u64* weight, u64* out, int rows, int chunks,
        float epsilon, ulonglong2* their_inbox, const ulonglong2* inbox, u32* their_flags,
        const u32* flags, u32* epochs
#else
    add_norm(const u64* partial, u64* residual, const u64* weight, u64* out, int rows, int chunks,
             float epsilon
#endif
    ) {
  __shared__ float warps[WARPS], parts[PARTS];
  __shared__ u64 arrivals;
  const u32 barrier = in_shared(&arrivals);
  const int row = blockIdx.x / PARTS, part = blockIdx.x % PARTS;
  const int column = part * THREADS + threadIdx.x, at = row * WORDS + column;
  const int width = WORDS / chunks;

  u64 total = partial[(column / width) * rows * width + row * width + column % width];
#ifdef FUSED
  const u32 epoch = epochs[blockIdx.x] + 1;
#endif
  expect_parts(barrier);  // while the loads are on their way
#ifdef FUSED
  const size_t place = (size_t)(epoch & 1) * rows * WORDS + at;
  SEND(place, total, epoch);
#endif
  const u64 before = residual[at], scale = weight[column];
#ifdef FUSED
  total = sum_of(total, RECEIVE(place, epoch));
#endif
  const u64 sum = sum_of(total, before);
  residual[at] = sum;

  const u32 low = (u32)sum, high = (u32)(sum >> 32);
  const float values[4] = {low_of(low), high_of(low), low_of(high), high_of(high)};
  float squares = 0;
  for (int i = 0; i < 4; i++) squares += values[i] * values[i];
  squares = in_block(squares, warps);

  send_part(parts + part, barrier, squares);
  wait_for_parts(barrier);
  squares = 0;
  for (int i = 0; i < PARTS; i++) squares += parts[i];
  const float factor = rsqrtf(squares / (4 * WORDS) + epsilon);

  const u32 scales[2] = {(u32)scale, (u32)(scale >> 32)};
  u32 words[2];
  for (int i = 0; i < 2; i++) {  // rounded before the weight, as torch's reference does
    const u32 normed = pair_of(values[2 * i] * factor, values[2 * i + 1] * factor);
    words[i] = pair_of(low_of(normed) * low_of(scales[i]), high_of(normed) * high_of(scales[i]));
  }
  out[at] = (u64)words[1] << 32 | words[0];
#ifdef FUSED
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;  // all have read it: barriers lie between
#endif
}
