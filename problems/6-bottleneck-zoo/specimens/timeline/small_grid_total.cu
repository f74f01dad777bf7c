// Add up all words into one total, which starts at zero. Both twins are this text: only the grid
// differs.
extern "C" __global__ void add_all(const int4 *words, int *total, int fours)
{
    int sum = 0;
#pragma unroll 4
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < fours; at += gridDim.x * blockDim.x) {
        const int4 four = words[at];
        sum += four.x + four.y + four.z + four.w;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
