// An all-reduce over any number of ranks: a block does the steps of schedules.py on its own words.
//
// Word i of a message belongs to the same thread on every rank and in every step, so a block waits
// for its twins alone.
#include "peer.cuh"

enum { SEND, ADD, PUT, ADD_ALL };
struct Step {
  int kind, peer, first, count, place, flag;
};

// inboxes, flags: of every rank, this one's own in its place; a flag a slot and block, ``most``
// blocks apart. Epoch e uses half e & 1 of an inbox of 2 ``half`` words.
extern "C" __global__ void __launch_bounds__(512)
    any_ranks_all_reduce(const uint4* mine, uint4* work, uint4* const* inboxes, u32* const* flags,
                         const Step* steps, u32* epochs, int count, int words, int half, int rank,
                         int ranks, int most) {
  const u32 epoch = epochs[blockIdx.x] + 1;
  const size_t slot = (size_t)(epoch & 1) * half;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int i = first; i < words; i += stride) work[i] = mine[i];
  for (int number = 0; number < count; number++) {
    const Step step = steps[number];
    // The range's first word that is this thread's: the same owner on every rank.
    const int begin = step.first + (first - step.first % stride + stride) % stride;
    const int end = step.first + step.count;
    if (step.kind == SEND) {
      uint4* there = inboxes[step.peer] + slot + step.place - step.first;
      for (int i = begin; i < end; i += stride) there[i] = work[i];
      __syncthreads();
      if (threadIdx.x == 0) send_release(flags[step.peer] + step.flag * most + blockIdx.x, epoch);
      continue;
    }
    const int slots = step.kind == ADD_ALL ? ranks - 1 : 1;
    if (threadIdx.x == 0)
      for (int other = 0; other < slots; other++)
        wait_acquire(flags[rank] + (step.flag + other) * most + blockIdx.x, epoch);
    __syncthreads();
    const uint4* here = inboxes[rank] + slot + step.place - step.first;
    for (int i = begin; i < end; i += stride) {
      if (step.kind == PUT) {
        work[i] = __ldcg(here + i);
      } else if (step.kind == ADD) {
        work[i] = sum_of(work[i], __ldcg(here + i));
      } else {  // in the order of the ranks, so that all of them round alike
        uint4 total = rank == 0 ? work[i] : __ldcg(here + i);
        for (int other = 1; other < ranks; other++) {
          const size_t at = (size_t)(other < rank ? other : other - 1) * step.count;
          total = sum_of(total, other == rank ? work[i] : __ldcg(here + at + i));
        }
        work[i] = total;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}
