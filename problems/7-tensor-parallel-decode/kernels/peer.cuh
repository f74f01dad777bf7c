// What every kernel that writes into the other GPU's memory shares: flags, epochs, sums of bf16.
//
// Both GPUs make the same launches in the same order, so both count the same epochs. A launch reads
// its epoch from device memory and leaves the next one there, so a CUDA graph replays it unchanged.
// In one shot, epoch e uses slot e & 1 of an inbox. No barrier ends a launch, because a rank writes
// epoch e only after it has read epoch e - 1 of the other rank, which that rank sent after its launch
// e - 2 had ended: nobody reads the slot any more. tests/problems/tensor_parallel/test_protocol.py
// walks every interleaving.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

// A flag that does not come ends the process instead of holding the GPU for ever.
#define LIMIT_NS 20000000000ull
#define LOOKS 4096

__device__ __forceinline__ u64 expired(u64 begun) {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if (begun && now - begun > LIMIT_NS) __trap();
  return begun ? begun : now;
}

__device__ __forceinline__ void send_release(u32* flag, u32 epoch) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
}

// The other rank may be one epoch ahead, never two: a flag counts from its epoch on.
__device__ __forceinline__ void wait_acquire(const u32* flag, u32 epoch) {
  u64 begun = 0;
  for (u32 looks = 1;; looks++) {
    u32 seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if ((int)(seen - epoch) >= 0) return;
    if (looks % LOOKS == 0) begun = expired(begun);
  }
}

// Packed words: each 8 bytes carry 4 bytes of data and the epoch, and 8 bytes arrive whole. So the
// data are their own flag, and no fence has to wait until they are there (NCCL's protocol "LL").
__device__ __forceinline__ void send_packed(ulonglong2* at, u64 data, u32 epoch) {
  const u64 low = (data & 0xffffffffull) | (u64)epoch << 32, high = data >> 32 | (u64)epoch << 32;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(low), "l"(high)
               : "memory");
}

__device__ __forceinline__ u64 wait_packed(const ulonglong2* at, u32 epoch) {
  u64 begun = 0;
  for (u32 looks = 1;; looks++) {
    u64 low, high;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : "l"(at)
                 : "memory");
    if ((u32)(low >> 32) == epoch && (u32)(high >> 32) == epoch)
      return (low & 0xffffffffull) | high << 32;
    if (looks % LOOKS == 0) begun = expired(begun);
  }
}

__device__ __forceinline__ float low_of(u32 pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_of(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }

__device__ __forceinline__ u32 pair_of(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Sums are formed in fp32 and rounded once. a + b is b + a, so both ranks get the same bits.
__device__ __forceinline__ u32 sum_of(u32 a, u32 b) {
  return pair_of(low_of(a) + low_of(b), high_of(a) + high_of(b));
}
__device__ __forceinline__ u64 sum_of(u64 a, u64 b) {
  return (u64)sum_of((u32)(a >> 32), (u32)(b >> 32)) << 32 | sum_of((u32)a, (u32)b);
}
__device__ __forceinline__ uint4 sum_of(uint4 a, uint4 b) {
  return make_uint4(sum_of(a.x, b.x), sum_of(a.y, b.y), sum_of(a.z, b.z), sum_of(a.w, b.w));
}

// A sum of more than two ranks' words of four bf16.
struct Total {
  float parts[4] = {};
  __device__ void add(u64 word) {
    parts[0] += low_of((u32)word), parts[1] += high_of((u32)word);
    parts[2] += low_of((u32)(word >> 32)), parts[3] += high_of((u32)(word >> 32));
  }
  __device__ u64 rounded() const {
    return (u64)pair_of(parts[2], parts[3]) << 32 | pair_of(parts[0], parts[1]);
  }
};
