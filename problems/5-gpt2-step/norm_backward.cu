// The backward pass of a norm over rows of WIDTH elements, with the sums over rows that its weight, its bias and the
// bias before it need.
//
// A warp has a row at a time, so threads wait for each other only in shuffles. TMA fetches its next rows to shared
// memory meanwhile; the sums of its columns stay in registers until its rows are over.
#include <cuda_bf16.h>
#include <stdint.h>

#include "hopper.cuh"

namespace {
constexpr int WARPS = LAUNCH_THREADS / 32, VECTOR = 8;
constexpr int CHUNKS = WIDTH / (32 * VECTOR);  // of 16 bytes a thread
static_assert(CHUNKS * 32 * VECTOR == WIDTH);
constexpr int SUMS = 3, INPUTS = 3;
constexpr int ROW_BYTES = 2 * WIDTH;

struct Row {
  uint4 of_sum[CHUNKS][32], of_normed[CHUNKS][32], x[CHUNKS][32];
};
struct Shared {
  Row rows[WARPS][STAGES];
  uint64_t full[WARPS][STAGES];
};
static_assert(sizeof(Shared) <= LAUNCH_SHARED_BYTES && sizeof(float) * WARPS * WIDTH <= sizeof(Shared::rows));

__device__ void fetch(void* to, const uint4* from, int row, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from + int64_t(row) * (WIDTH / VECTOR)), "r"(ROW_BYTES), "r"(barrier)
               : "memory");
}

__device__ void unpack(uint4 raw, float (&values)[VECTOR]) {
  uint32_t pairs[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < VECTOR / 2; ++i) {
    values[2 * i] = __uint_as_float(pairs[i] << 16);
    values[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
  }
}

__device__ uint32_t packed(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<uint32_t&>(pair);
}

__device__ float over_warp(float x) {
#pragma unroll
  for (int apart = 16; apart; apart /= 2) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}
}  // namespace

// of_sum, of_normed, x, of_x: [rows, WIDTH] in bf16; mean, inverse: [rows]; weight: [WIDTH] in bf16;
// parts: [gridDim.x, 3, WIDTH].
extern "C" __global__ void __launch_bounds__(LAUNCH_THREADS)
    norm_backward(const uint4* of_sum, const uint4* of_normed, const uint4* x, const float* mean, const float* inverse,
                  const uint4* weight, uint4* of_x, float* parts, int rows) {
  extern __shared__ __align__(128) uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first = blockIdx.x * WARPS + warp, step = gridDim.x * WARPS;
  const uint32_t full = shared_address(shared.full[warp]);
  uint4 weights[CHUNKS];
#pragma unroll
  for (int c = 0; c < CHUNKS; ++c) weights[c] = weight[c * 32 + lane];

  auto ask = [&](int stage, int row) {
    Row& to = shared.rows[warp][stage];
    barrier_expect(full + 8 * stage, INPUTS * ROW_BYTES);
    fetch(to.of_sum, of_sum, row, full + 8 * stage);
    fetch(to.of_normed, of_normed, row, full + 8 * stage);
    fetch(to.x, x, row, full + 8 * stage);
  };
  if (lane == 0) {
    for (int stage = 0; stage < STAGES; ++stage) barrier_init(full + 8 * stage, 1);
    barrier_init_fence();
    for (int stage = 0; stage < STAGES; ++stage)
      if (first + stage * step < rows) ask(stage, first + stage * step);
  }
  __syncwarp();

  float sums[SUMS][CHUNKS][VECTOR] = {};
  int stage = 0;
  uint32_t parity = 0;
  for (int row = first; row < rows; row += step) {
    const float middle = mean[row], scale = inverse[row];
    const Row& now = shared.rows[warp][stage];
    barrier_wait(full + 8 * stage, parity);
    float level = 0.f, along = 0.f;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      float g[VECTOR], v[VECTOR], w[VECTOR];
      unpack(now.of_normed[c][lane], g);
      unpack(now.x[c][lane], v);
      unpack(weights[c], w);
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) {
        v[i] = (v[i] - middle) * scale;
        sums[0][c][i] += g[i] * v[i];
        sums[1][c][i] += g[i];
        level += g[i] * w[i];
        along += g[i] * w[i] * v[i];
      }
    }
    level = over_warp(level) / WIDTH;
    along = over_warp(along) / WIDTH;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      float g[VECTOR], v[VECTOR], w[VECTOR], d[VECTOR];
      unpack(now.of_normed[c][lane], g);
      unpack(now.x[c][lane], v);
      unpack(weights[c], w);
      unpack(now.of_sum[c][lane], d);
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) {
        v[i] = (v[i] - middle) * scale;
        d[i] += scale * (g[i] * w[i] - level - v[i] * along);
      }
      uint4 all{packed(d[0], d[1]), packed(d[2], d[3]), packed(d[4], d[5]), packed(d[6], d[7])};
      of_x[int64_t(row) * (WIDTH / VECTOR) + c * 32 + lane] = all;
      unpack(all, d);
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) sums[2][c][i] += d[i];
    }
    __syncwarp();  // all have read the row
    if (lane == 0 && row + STAGES * step < rows) ask(stage, row + STAGES * step);
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }

  // The rows' memory takes the sums of the block's warps.
  float(&by_warp)[WARPS][WIDTH] = *reinterpret_cast<float(*)[WARPS][WIDTH]>(memory);

#pragma unroll
  for (int kind = 0; kind < SUMS; ++kind) {
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) by_warp[warp][(c * 32 + lane) * VECTOR + i] = sums[kind][c][i];
    __syncthreads();
    for (int column = threadIdx.x; column < WIDTH; column += LAUNCH_THREADS) {
      float sum = 0.f;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) sum += by_warp[w][column];
      parts[(blockIdx.x * SUMS + kind) * WIDTH + column] = sum;
    }
  }
}
