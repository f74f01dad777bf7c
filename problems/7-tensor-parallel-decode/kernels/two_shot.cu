// Two-shot all-reduce: a reduce-scatter, then an all-gather; each rank sums one half of the message.
//
// With two ranks it sends as many bytes as one shot does, half of them later: it waits for the link
// twice. What it saves is arithmetic, and bytes as soon as there are more ranks. One slot does: each
// shot's flag says that the sender has read what the shot before brought.
#include "peer.cuh"

// count: 16-byte words of the message, an even number, and of an inbox. flags: two a
// block, of the reduce-scatter and of the all-gather. rank: 0 or 1, the half that this rank sums.
extern "C" __global__ void __launch_bounds__(512)
    two_shot_all_reduce(const uint4* mine, uint4* sum, uint4* their_inbox, const uint4* inbox,
                        u32* their_flags, const u32* flags, u32* epochs, int count, int rank) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const int half = count / 2, own = rank * half, other = half - own;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  u32* const theirs = their_flags + 2 * blockIdx.x;
  const u32* const ours = flags + 2 * blockIdx.x;

  for (int i = first; i < half; i += stride) their_inbox[i] = mine[other + i];
  __syncthreads();
  if (threadIdx.x == 0) {
    send_release(theirs, epoch);
    wait_acquire(ours, epoch);
  }
  __syncthreads();
  for (int i = first; i < half; i += stride) {
    const uint4 total = sum_of(mine[own + i], __ldcg(inbox + i));
    sum[own + i] = total;
    their_inbox[half + i] = total;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    send_release(theirs + 1, epoch);
    wait_acquire(ours + 1, epoch);
    epochs[blockIdx.x] = epoch;
  }
  __syncthreads();
  for (int i = first; i < half; i += stride) sum[other + i] = __ldcg(inbox + half + i);
}
