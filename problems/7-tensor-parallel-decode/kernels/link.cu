// What the link itself can do: a signal's way there and back, and bytes written to the other GPU.
#include "peer.cuh"

__device__ __forceinline__ void wait_relaxed(const u32* flag, u32 epoch) {
  u64 begun = 0;
  for (u32 looks = 1;; looks++) {
    u32 seen;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if ((int)(seen - epoch) >= 0) return;
    if (looks % LOOKS == 0) begun = expired(begun);
  }
}

__device__ __forceinline__ void wait(const u32* flag, u32 epoch, int fenced) {
  if (fenced)
    wait_acquire(flag, epoch);
  else
    wait_relaxed(flag, epoch);
}

// One thread a rank. Rank 0 sends, rank 1 answers; ns[sample]: time of ``rounds`` there and back.
// Each sample has a flag of its own, ``apart`` words from the one before.
// With ``fenced`` each signal follows 16 bytes of data and is a release, as one_shot.cu sends.
extern "C" __global__ void ping_pong(u32* their_flag, const u32* flag, uint4* their_data,
                                     u32* epochs, u64* ns, int rounds, int samples, int rank,
                                     int fenced, int apart) {
  u32 epoch = epochs[0];
  for (int sample = -1; sample < samples; sample++) {  // the first brings both together
    u64 begin, end;
    their_flag += apart, flag += apart;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin)::"memory");
    for (int round = 0; round < rounds; round++) {
      epoch++;
      if (rank == 1) wait(flag, epoch, fenced);
      if (fenced) {
        *their_data = make_uint4(epoch, epoch, epoch, epoch);
        send_release(their_flag, epoch);
      } else {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(their_flag), "r"(epoch) : "memory");
      }
      if (rank == 0) wait(flag, epoch, fenced);
    }
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end)::"memory");
    if (sample >= 0) ns[sample] = end - begin;
  }
  epochs[0] = epoch;
}

// count: 16-byte words. Both ranks write at once, as in an all-reduce.
extern "C" __global__ void __launch_bounds__(512)
    push(const uint4* mine, uint4* theirs, int count) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) theirs[i] = mine[i];
}

// A row of ``counters`` a multiprocessor: its cycles and ns, for harness.probe.sm_clock.
extern "C" __global__ void read_clocks(u64* counters) {
  u32 sm;
  u64 ns;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  counters[2 * sm] = clock64();
  counters[2 * sm + 1] = ns;
}
