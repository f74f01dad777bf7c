// Pure integer arithmetic that the kernels share: where a byte lies, which tile comes next.
// No CUDA in this file, so that tests/problems/hgemm compiles this very file for the CPU and checks it by brute force.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define ANYWHERE __host__ __device__ __forceinline__
#else
#define ANYWHERE inline
#endif

ANYWHERE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// ---- XOR swizzles -------------------------------------------------------------------------------
// Shared memory has 32 banks of 4 bytes, so 8 chunks of 16 bytes span all banks once. ldmatrix and
// stmatrix move 8 rows of one 16-byte chunk at a time: without a swizzle the 8 rows of a column lie
// a multiple of 128 bytes apart, in the same banks: an 8-way conflict. XORing the chunk with the row
// spreads them over all 8 places and costs no memory.

// Rows of 128 bytes (64 elements). The same pattern as TMA's SWIZZLE_128B and wgmma's 128-byte mode:
// address bits 4-6 are XORed with bits 7-9, provided that the tile starts at a multiple of 1024.
ANYWHERE constexpr int swizzle_128(int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

// Rows of 64 bytes (32 elements): two rows fill the banks once, so a pair of rows shares its XOR.
ANYWHERE constexpr int swizzle_64(int row, int chunk) { return row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4); }

// Rows of 256 bytes (128 elements): the XOR stays within each half of a row.
ANYWHERE constexpr int swizzle_256(int row, int chunk) { return row * 256 + ((chunk ^ (row & 7)) << 4); }

// ---- Operands of wgmma in shared memory ----------------------------------------------------------
// TMA writes a box whose rows are 128 bytes (64 elements, the widest that SWIZZLE_128B takes) as rows one
// after the other; within each 8 rows (1024 bytes, "an atom") the eight 16-byte chunks of a row are permuted
// by chunk ^= row % 8. So element (row, column) of a box lies at swizzle_128(row, column / 8) + 2 * (column % 8).
//   A: rows are m, columns are k ("K-major"). One box of TILE_M rows is a stage's A.
//   B: rows are k, columns are n ("MN-major"). A box is 64 rows of k by 64 columns of n, 8192 bytes; TILE_N / 64
//      boxes lie side by side in memory.
// wgmma reads both through 64-bit descriptors: bits 0-13 start address / 16, bits 16-29 leading byte offset / 16,
// bits 32-45 stride byte offset / 16, bits 62-63 the swizzle (1: 128 bytes). PTX ISA, "Asynchronous Warpgroup Level
// Canonical Layouts", gives in units of 16 bytes (T = 8 elements), before the swizzle,
//   K-major:  ((8,m),(T,2k)) : ((8T,SBO),(1,T))     MN-major: ((T,8,m),(8,k)) : ((1,T,LBO),(8T,SBO))
// Read: K-major, rows 8T = 128 bytes apart within 8 rows, SBO from one 8 rows to the next: 1024. LBO is not used.
//       MN-major, 64 columns contiguous, LBO from those to the next 64: 8192, one box; rows of k 8T = 128 bytes
//       apart within 8 rows, SBO from one 8 rows of k to the next: 1024.
// One wgmma takes 16 of the 64 k. The next 16 begin, in A, 16 elements = 32 bytes further along the row (the hardware
// swizzles the final address bits, so a start inside the atom is right); in B, 16 rows = 2048 bytes further.
// tests/problems/hgemm models both sides byte by byte and compares them.
constexpr int BOX_BYTES = 64 * 64 * 2; // a 64 x 64 box, the unit in which B and C are moved

// `skip`: bytes from the tile's begin to where this wgmma's part begins. Added to the finished lower word: the compiler makes
// it one addition to what all wgmmas of a stage share, and the address stays within its 14 bits.
ANYWHERE constexpr uint64_t descriptor(uint32_t tile, int leading_bytes, int stride_bytes, int skip) {
  const uint32_t low = ((tile & 0x3FFFF) >> 4 | static_cast<uint32_t>(leading_bytes >> 4) << 16) + (skip >> 4);
  const uint32_t high = static_cast<uint32_t>(stride_bytes >> 4) | 1u << 30;
  return static_cast<uint64_t>(high) << 32 | low;
}
// `k`: which 16 of the stage's 64.
ANYWHERE constexpr uint64_t descriptor_a(uint32_t tile, int k) { return descriptor(tile, 16, 1024, k * 32); }
ANYWHERE constexpr uint64_t descriptor_b(uint32_t tile, int k) { return descriptor(tile, BOX_BYTES, 1024, k * 2048); }

// Where a thread of a warpgroup points stmatrix, to put columns 8j..8j+15 of the accumulators into a 64 x 64 box: lanes
// 0-15 the rows of the left 8 columns, lanes 16-31 those of the right 8.
ANYWHERE constexpr int store_offset(int thread, int j) {
  return swizzle_128(thread / 32 * 16 + thread % 16, j + thread % 32 / 16);
}

// ---- Order of tiles -----------------------------------------------------------------------------
struct Tile {
  int row, column; // in units of tiles (or of clusters of tiles), not of elements
};

// Tiles that run at the same time should share rows of A and columns of B in L2. In row-major order,
// 132 tiles of 8192 x 8192 touch 4 tile rows but all tile columns; in groups of `group` tile rows,
// walked column by column, they cover a near square. Odd groups run in reverse order, so that a group starts
// with the columns of B that the group before it used last.
ANYWHERE constexpr Tile grouped_tile(int index, int rows, int columns, int group) {
  const int per_group = group * columns;
  const int which = index / per_group;
  const int inside = index - which * per_group;
  const int first = which * group;
  const int height = rows - first < group ? rows - first : group; // the last group may be lower
  const int column = inside / height;
  const int row = inside - column * height;
  return Tile{first + row, (which & 1) ? columns - 1 - column : column};
}
