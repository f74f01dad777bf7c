// One-shot all-reduce: each rank writes its whole message into the other's inbox, and each sums.
//
// A block sends its part, releases its flag in the other GPU's memory, and waits for the other
// rank's. The release has to wait until the part has arrived: a round trip over the link before the
// flag sets out.
#include "peer.cuh"

// count: 16-byte words of the message; an inbox has two slots of them. flags, epochs: one a block.
extern "C" __global__ void __launch_bounds__(512)
    one_shot_all_reduce(const uint4* mine, uint4* sum, uint4* their_inbox, const uint4* inbox,
                        u32* their_flags, const u32* flags, u32* epochs, int count) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const size_t slot = (size_t)(epoch & 1) * count;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int i = first; i < count; i += stride) their_inbox[slot + i] = mine[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    send_release(their_flags + blockIdx.x, epoch);
    wait_acquire(flags + blockIdx.x, epoch);
    epochs[blockIdx.x] = epoch;
  }
  __syncthreads();
  for (int i = first; i < count; i += stride) sum[i] = sum_of(mine[i], __ldcg(inbox + slot + i));
}
