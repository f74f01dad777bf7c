// All-reduces over any number of ranks in packed words: twice the bytes of any_ranks.cu, no fence.
//
// All ranks add in their order, in fp32, and round once, so all get the same bits. One shot needs two
// slots, as in peer.cuh. Two shots need one: a rank has had every other's sums of a launch, which
// were sent after its parts were read, before it begins the next.
#include "peer.cuh"

// The sum of this rank's word and of one word from each other, ``apart`` words from the next.
static __device__ u64 total_of(u64 own, const ulonglong2* here, size_t apart, u32 epoch, int rank,
                               int ranks) {
  Total total;
  for (int other = 0; other < ranks; other++)
    total.add(other == rank ? own : wait_packed(here + other * apart, epoch));
  return total.rounded();
}

// count: 8-byte words of the message. inboxes: of every rank; each has two slots of ``ranks`` parts
// of so many packed words.
extern "C" __global__ void __launch_bounds__(512)
    any_packed_one_shot(const u64* mine, u64* sum, ulonglong2* const* inboxes, u32* epochs,
                        int count, int rank, int ranks) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const size_t slot = (size_t)(epoch & 1) * ranks * count;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int far = 1; far < ranks; far++) {
    ulonglong2* there = inboxes[(rank + far) % ranks] + slot + (size_t)rank * count;
    for (int i = first; i < count; i += stride) send_packed(there + i, mine[i], epoch);
  }
  const ulonglong2* here = inboxes[rank] + slot;
  for (int i = first; i < count; i += stride)
    sum[i] = total_of(mine[i], here + i, count, epoch, rank, ranks);
  __syncthreads();  // every thread has read the epoch
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}

// The same by a reduce-scatter and an all-gather: rank r sums words r * part and on. count: a
// multiple of ranks. An inbox has the parts that come to be summed, then the sums.
extern "C" __global__ void __launch_bounds__(512)
    any_packed_two_shot(const u64* mine, u64* sum, ulonglong2* const* inboxes, u32* epochs,
                        int count, int rank, int ranks) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const int part = count / ranks;
  const size_t place = (size_t)rank * part;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int far = 1; far < ranks; far++) {
    const int other = (rank + far) % ranks;
    for (int i = first; i < part; i += stride)
      send_packed(inboxes[other] + place + i, mine[other * part + i], epoch);
  }
  const ulonglong2* here = inboxes[rank];
  for (int i = first; i < part; i += stride) {
    const u64 total = total_of(mine[rank * part + i], here + i, part, epoch, rank, ranks);
    sum[rank * part + i] = total;
    for (int far = 1; far < ranks; far++)
      send_packed(inboxes[(rank + far) % ranks] + count + place + i, total, epoch);
  }
  for (int far = 1; far < ranks; far++) {
    const int owner = (rank + far) % ranks;
    for (int i = first; i < part; i += stride)
      sum[owner * part + i] = wait_packed(here + count + owner * part + i, epoch);
  }
  __syncthreads();
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}
