// How a warpgroup loads a stage of an operand that TMA cannot read: aligned pieces of 16 bytes, two for each chunk, shifted and stored
// where TMA would have put the chunk (realign.cuh). All but the last steps of K run without checks, in a fraction of the
// instructions: what they read too much is the operand's, and ends up in rows or columns of D that are not stored, as do rows and
// columns beyond the last, whose place in the stage is left as it is.
#pragma once
#include "realign.cuh"

struct Operand {
  const element* data;
  int along, k;     // where the tile's rows of X or columns of Y end, and K
  int64_t pitch;    // elements from row to row
};
// 64 of k of SPAN rows (MN 0) or columns (MN 1) from any address, by the 128 threads of a warpgroup. A thread's chunks of 16 bytes are
// 8 or 16 rows apart, so in all of them, of every step, the address has the same last four bits.
template <int MN, int SPAN> class FromAny {
  static constexpr int ACROSS = MN ? SPAN / 8 : 8, APART = 128 / ACROSS, TURNS = ceil_div(SPAN * 8, 128);
  static_assert(APART % 8 == 0, "rows whose chunks have the same place in the swizzle");
  const element* first_; // the chunk of k = 0
  int64_t pitch_;
  int columns_, rows_; // that are left from that chunk on
  uint32_t place_;     // in the stage
  int whole_;          // steps before this k need no checks

  template <bool WHOLE> __device__ __forceinline__ void move(uint32_t to, int k0) const {
    const element* from = first_ + (MN ? k0 * pitch_ : k0);
    const int columns = columns_ - (MN ? 0 : k0), rows = rows_ - (MN ? k0 : 0);
    const uint32_t shift = shift_of(first_);
    Fetched fetched[TURNS];
#pragma unroll
    for (int i = 0; i < TURNS; ++i, from += APART * pitch_) {
      if (!WHOLE) fetched[i] = fetch(from, i * APART < rows ? columns : 0, shift);
      else if (MN || i * APART < rows_) fetched[i] = fetch_both(from, shift);
    }
#pragma unroll
    for (int i = 0; i < TURNS && (MN || i * APART < rows_); ++i) {
      const uint4 v = WHOLE ? shifted(fetched[i].pair, shift) : arranged(fetched[i], i * APART < rows ? columns : 0);
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + place_ + i * APART * 128), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                   : "memory");
    }
  }

public:
  __device__ __forceinline__ FromAny(const Operand& from, int along0) : pitch_(from.pitch) {
    const int thread = threadIdx.x % 128, across = thread % ACROSS, row = thread / ACROSS;
    const int y = MN ? row : along0 + row, x = MN ? along0 + across * 8 : across * 8;
    columns_ = (MN ? from.along : from.k) - x, rows_ = (MN ? from.k : from.along) - y;
    first_ = from.data + y * from.pitch + x;
    place_ = MN ? across / 8 * BOX_BYTES + swizzle_128(row, across % 8) : swizzle_128(row, across);
    // The pieces of a row's last chunk hold up to 15 elements of what follows; nothing may follow the last row.
    whole_ = from.k - TILE_K + 1 - (MN ? ceil_div(15, static_cast<int>(min(from.pitch, int64_t{15}))) : 8);
  }
  __device__ __forceinline__ void load(uint32_t to, int k0) const {
    if (MN ? columns_ <= 0 : rows_ <= 0) return;
    if (k0 < whole_) move<true>(to, k0);
    else move<false>(to, k0);
  }
};
