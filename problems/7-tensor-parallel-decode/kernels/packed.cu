// One-shot all-reduce in packed words: twice the bytes of one_shot.cu, and no fence.
#include "peer.cuh"

// count: 8-byte words of the message; an inbox has two slots of as many 16-byte packed words.
extern "C" __global__ void __launch_bounds__(512)
    packed_one_shot_all_reduce(const u64* mine, u64* sum, ulonglong2* their_inbox,
                               const ulonglong2* inbox, u32* epochs, int count) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const size_t slot = (size_t)(epoch & 1) * count;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int i = first; i < count; i += stride) send_packed(their_inbox + slot + i, mine[i], epoch);
  for (int i = first; i < count; i += stride)
    sum[i] = sum_of(mine[i], wait_packed(inbox + slot + i, epoch));
  __syncthreads();  // every thread has read the epoch
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}
