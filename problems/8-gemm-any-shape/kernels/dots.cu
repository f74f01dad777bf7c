// A GEMM for an operand of few rows or columns: the wide operand streams from global memory straight into the registers of mma.sync.
// No TMA, no barriers, no copies: it starts fast, and reads rows at any address by vectors of 16 bytes (dots.cuh).
//
// It computes D = X * Y of w by s, as sliced does: X is the wide operand, Y the narrow one. D(w, s) lies at c + w * down + s * across.
//
//   X_MN, Y_MN  1: the operand lies with rows of k; 0: its rows (of Y: columns) run along k
//   ROWS        rows of X that a warp multiplies, for 8 columns of D
//   LOADS       vectors of X that a lane has in flight; BLOCKS  on a multiprocessor, by which registers are shared out
//
// mma.sync takes 16 k at a time, whose order is free where both operands have the same. Rows along k: a lane's vector holds 8 k of a
// row, which are the four places of a lane in two mma. Rows of k: a lane loads 8 rows of X at 4 k, and pairs their halves.
// At launch: `ways` warps share rows and alternate in K; the blocks of a cluster have a part of K each. All add in a fixed order.
#include <type_traits>

#include "cluster.cuh"
#include "dots.cuh"
#include "realign.cuh"

constexpr int THREADS = 32 * WARPS, TILE_N = 8, TILES = ROWS / 16;
constexpr int VECTORS = X_MN ? ROWS / 16 : ROWS / 8; // of X, of a lane and step
constexpr int UNROLL = LOADS / VECTORS;              // steps in flight
constexpr int EACH = X_MN ? 4 : 8;                   // k of a lane and step
constexpr int PITCH = place_of(ROWS) * TILE_N;       // sums of a warp
constexpr int PEEKS = 4;                             // in flight
LAUNCHED_WITH(ROWS, TILE_N, THREADS, 0);
static_assert(ROWS % (X_MN ? 64 : 16) == 0 && LOADS % VECTORS == 0 && TILE_N == VECTOR);

__device__ __forceinline__ uint32_t load_one_if(bool wanted, const element* from) {
  uint32_t v;
  asm volatile("{ .reg .pred wanted; .reg .b16 half; mov.b16 half, 0; setp.ne.b32 wanted, %2, 0;\n"
               "@wanted ld.global.b16 half, [%1]; cvt.u32.u16 %0, half; }"
               : "=r"(v)
               : "l"(from), "r"(static_cast<int>(wanted))
               : "memory");
  return v;
}
// Moved up by `count` elements, below 8, with zeros before them.
__device__ __forceinline__ uint4 moved(const uint4& v, int count) {
  uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 3; i >= 0; --i) w[i] = count & 4 ? (i > 1 ? w[i - 2] : 0) : w[i];
#pragma unroll
  for (int i = 3; i >= 0; --i) w[i] = count & 2 ? (i > 0 ? w[i - 1] : 0) : w[i];
#pragma unroll
  for (int i = 3; i >= 0; --i) w[i] = count & 1 ? __funnelshift_l(i > 0 ? w[i - 1] : 0, w[i], 16) : w[i];
  return make_uint4(w[0], w[1], w[2], w[3]);
}

// The column of Y of which a lane loads EACH of k in a step, from k0 on. Where a batch is `whole`, all of them exist.
struct Column {
  const element* data; // k = 0
  int64_t apart;       // elements from k to k
  bool inside;
};
struct Fetching { // both operands along k: Y may begin at another place within 16 bytes than X
  Fetched fetched;
  template <bool WHOLE> __device__ __forceinline__ void load(const Column& y, int k0, int, int end) {
    const int begin = WHOLE ? k0 : max(k0, 0);
    fetched = fetch(y.data + begin, !y.inside ? 0 : WHOLE ? VECTOR : end - begin);
  }
  template <bool WHOLE> __device__ __forceinline__ uint4 words(const Column& y, int k0, int end) const {
    if constexpr (WHOLE) return shifted(fetched.pair, fetched.shift);
    const uint4 v = arranged(fetched, y.inside ? end - max(k0, 0) : 0);
    return k0 < 0 ? moved(v, -k0) : v;
  }
};
struct Gathering {
  uint32_t each[EACH];
  template <bool WHOLE> __device__ __forceinline__ void load(const Column& y, int k0, int period, int end) {
    const element* from = y.data + k0 * y.apart;
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      const int k = k0 + j * period;
      each[j] = load_one_if(y.inside && (WHOLE || (k >= 0 && k < end)), from);
      from += y.apart * period;
    }
  }
  template <bool> __device__ __forceinline__ uint4 words(const Column&, int, int) const {
    const auto pair = [&](int i) { return 2 * i < EACH ? each[2 * i % EACH] | each[(2 * i + 1) % EACH] << 16 : 0u; };
    return make_uint4(pair(0), pair(1), pair(2), pair(3));
  }
};
using Narrow = std::conditional_t<!X_MN && !Y_MN, Fetching, Gathering>;

__device__ __forceinline__ uint32_t word(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

#if !X_MN
// UNROLL steps of a warp whose rows run along k, `ways` steps apart.
template <bool WHOLE>
__device__ __forceinline__ void batch_along(float (&d)[TILES][4], const element* const (&lines)[VECTORS], const bool (&inside)[VECTORS],
                                            const Column& y, int base, int ways, int last, int lane, int shift, int k) {
  uint4 v[UNROLL][VECTORS];
  Narrow part[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const int step = base + u * ways, at = k_along(step, lane, shift), end = WHOLE || step < last ? k : 0;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
      v[u][i] = load_if(inside[i] && (WHOLE || at < end), reinterpret_cast<const uint4*>(lines[i] + at));
    part[u].template load<WHOLE>(y, at, 1, end);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const int step = base + u * ways, at = k_along(step, lane, shift), end = WHOLE || step < last ? k : 0;
    if (!WHOLE && (at < 0 || at + VECTOR > end)) { // beside the row lie others' elements, which may be NaN
#pragma unroll
      for (int i = 0; i < VECTORS; ++i) {
        uint4& of = v[u][i];
        of = make_uint4(within(of.x, at, end), within(of.y, at + 2, end), within(of.z, at + 4, end), within(of.w, at + 6, end));
      }
    }
    const uint4 b = part[u].template words<WHOLE>(y, at, end);
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
      const uint4 &upper = v[u][2 * i], &lower = v[u][2 * i + 1];
      const uint32_t one[4] = {upper.x, lower.x, upper.y, lower.y}, two[4] = {upper.z, lower.z, upper.w, lower.w};
      multiply(d[i], one, b.x, b.y);
      multiply(d[i], two, b.z, b.w);
    }
  }
}
#else
// UNROLL steps of a warp that takes rows of k; k, and `end`, are counted from where the block's part begins.
template <bool WHOLE>
__device__ __forceinline__ void batch_across(float (&d)[TILES][4], const element* x, int64_t pitch, const bool (&inside)[VECTORS / 4],
                                             const Column& y, int base, int warp, int lane, int period, int end) {
  uint4 v[UNROLL][VECTORS];
  Narrow part[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const int first = k_across(base + u, warp, lane, 0, period);
    const element* line = x + first * pitch;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int i = 0; i < VECTORS / 4; ++i)
        v[u][i * 4 + j] = load_if(inside[i] && (WHOLE || first + j * period < end), reinterpret_cast<const uint4*>(line + i * 64));
      line += period * pitch;
    }
    part[u].template load<WHOLE>(y, first, period, end);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const uint4 b = part[u].template words<WHOLE>(y, 0, end);
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
      uint32_t of[4]; // 2 rows of X at 4 k, from where they lie to where mma has them: the second row 8 below the first
#pragma unroll
      for (int j = 0; j < 4; ++j) of[j] = word(v[u][i / 4 * 4 + j], i % 4);
      const uint32_t a[4] = {__byte_perm(of[0], of[1], 0x5410), __byte_perm(of[0], of[1], 0x7632),
                             __byte_perm(of[2], of[3], 0x5410), __byte_perm(of[2], of[3], 0x7632)};
      multiply(d[i], a, b.x, b.y);
    }
  }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    dots(const element* x, const element* y, element* c, int64_t pitch_x, int64_t pitch_y, int64_t down, int64_t across, int w,
         int s, int k, int ways) {
  __shared__ __align__(16) float sums[WARPS * PITCH];
  __shared__ float added[ROWS * TILE_N];
  const int slices = cluster_size(), rank = cluster_rank();
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const int tile = blockIdx.x >> power_of(slices), column = blockIdx.y * TILE_N, power = power_of(ways);
  const int64_t begins = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) / sizeof(element));
  const int period = period_of(pitch_x), apart = X_MN ? 1 : period; // of a tile's rows
  const int room = X_MN ? ROWS : ROWS * WARPS >> power;             // of its rows, a power of two
  const int height = X_MN ? height_across(begins, pitch_x, ROWS) : room;
  const int first = X_MN ? tile * height : first_along(tile, period, height);
  const int shift = shift_of(begins, pitch_x, X_MN ? line_across(warp, period) : first);
  const int own = column + lane / 4;
  Column narrow{y + own * (Y_MN ? 1 : pitch_y), Y_MN ? pitch_y : 1, own < s};
  float d[TILES][4] = {};
  let_next_start();
  wait_for_previous();

#if X_MN
  const int eights = ceil_div(k, 8), begin = share_of(eights, rank, slices) * 8;
  const int end = min(share_of(eights, rank + 1, slices) * 8, k) - begin;
  bool inside[VECTORS / 4];
#pragma unroll
  for (int i = 0; i < VECTORS / 4; ++i) inside[i] = row_across(first, i, lane, shift) < w;
  narrow.data += begin * narrow.apart;
  const element* from = x + begin * pitch_x + row_across(first, 0, lane, shift);
  int base = 0;
  for (; (base + UNROLL) * BLOCK_STEP <= end; base += UNROLL)
    batch_across<true>(d, from, pitch_x, inside, narrow, base, warp, lane, period, end);
  for (; base * BLOCK_STEP < end; base += UNROLL)
    batch_across<false>(d, from, pitch_x, inside, narrow, base, warp, lane, period, end);
#else
  const int steps = steps_along(k, shift), last = share_of(steps, rank + 1, slices);
  const element* lines[VECTORS];
  bool inside[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    const int at = first + ((warp >> power) * ROWS + row_along(i, lane)) * apart;
    inside[i] = at < w;
    lines[i] = x + at * pitch_x;
    asm volatile("" : "+l"(lines[i])); // as below: else the compiler computes these anew in every turn
  }
  asm volatile("" : "+l"(narrow.data));
  for (int base = share_of(steps, rank, slices) + (warp & (ways - 1)); base < last; base += ways * UNROLL) {
    const int end = base + (UNROLL - 1) * ways;
    if ((base > 0 || shift == 0) && end < last && (end + 1) * STEP_ALONG - shift <= k)
      batch_along<true>(d, lines, inside, narrow, base, ways, last, lane, shift, k);
    else
      batch_along<false>(d, lines, inside, narrow, base, ways, last, lane, shift, k);
  }
#endif

#pragma unroll
  for (int i = 0; i < TILES; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = X_MN ? sum_across(i, half, lane) : sum_along(i, half, lane);
      float* to = sums + warp * PITCH + place_of(at) * TILE_N + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = make_float2(d[i][2 * half], d[i][2 * half + 1]);
    }
  __syncthreads();

  // Neighbouring threads store neighbouring elements of C.
  const int side = X_MN ? power_of(ROWS / 16) + 4 : power_of(WARPS) - power + power_of(ROWS / 16) + 4;
  const auto row_of = [&](int i) { return down == 1 ? i & (room - 1) : i / TILE_N; };
  const auto column_of = [&](int i) { return down == 1 ? i >> side : i % TILE_N; };
  const auto stored = [&](int i) { return row_of(i) < height && first + row_of(i) * apart < w && column + column_of(i) < s; };
  const auto store = [&](int i, float sum) {
    c[(first + row_of(i) * apart) * down + (column + column_of(i)) * across] = to_element(sum);
  };
  for (int i = threadIdx.x; i < room * TILE_N; i += THREADS) {
    if (!stored(i)) continue;
    const int row = row_of(i);
    float sum = 0.0f;
#pragma unroll
    for (int way = 0; way < WARPS; ++way) {
      if (!X_MN && way >= ways) break;
      const int of = X_MN ? way : (row / ROWS << power) + way;
      const int at = X_MN ? row + shift_of(begins, pitch_x, line_across(way, period)) : row % ROWS;
      sum += sums[of * PITCH + place_of(at) * TILE_N + column_of(i)];
    }
    if (slices == 1) store(i, sum);
    else added[i] = sum;
  }
  if (slices == 1) return;
  cluster_sync();
  const int until = share_of(room * TILE_N, rank + 1, slices);
  for (int i = share_of(room * TILE_N, rank, slices) + threadIdx.x; i < until; i += THREADS) {
    if (!stored(i)) continue;
    float sum = 0.0f;
    for (int block = 0; block < slices; block += PEEKS) {
      float v[PEEKS];
#pragma unroll
      for (int j = 0; j < PEEKS; ++j) v[j] = peek(shared_address(added + i), min(block + j, slices - 1));
#pragma unroll
      for (int j = 0; j < PEEKS; ++j) sum += block + j < slices ? v[j] : 0.0f;
    }
    store(i, sum);
  }
  cluster_arrive();
  cluster_wait(); // all sums have been read
}
