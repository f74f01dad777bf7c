// Shared by every step: the element type, its conversions, and thin wrappers of the PTX of sm_80.
#pragma once
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "layout.cuh"

#if defined(ELEMENT_BF16)
using element = __nv_bfloat16;
#define ELEMENT_PTX "bf16"
#elif defined(ELEMENT_FP16)
using element = __half;
#define ELEMENT_PTX "f16"
#else
#error "choose the element type: -DELEMENT_BF16 or -DELEMENT_FP16"
#endif
static_assert(sizeof(element) == 2, "every offset in these kernels assumes 2-byte elements");

// steps.py defines how each kernel is launched, and the build passes that in: where the two disagree, the build fails.
#ifdef LAUNCH_THREADS
#define LAUNCHED_WITH(tile_m, tile_n, threads, shared_bytes)                                                           \
  static_assert((tile_m) == LAUNCH_TILE_M && (tile_n) == LAUNCH_TILE_N, "steps.py launches for another tile");         \
  static_assert((threads) == LAUNCH_THREADS, "steps.py launches another number of threads");                           \
  static_assert((shared_bytes) == LAUNCH_SHARED_BYTES, "steps.py gives another amount of dynamic shared memory")
#else
#define LAUNCHED_WITH(tile_m, tile_n, threads, shared_bytes) static_assert((shared_bytes) >= 0, "")
#endif

__device__ __forceinline__ float to_float(element x) { return static_cast<float>(x); }

// Round to nearest even, overflow to infinity: what cuBLAS does.
__device__ __forceinline__ element to_element(float x) { return static_cast<element>(x); }

// Two floats to two elements in one register; the first lies at the lower address.
__device__ __forceinline__ uint32_t pack(float first, float second) {
  uint32_t packed;
  asm("cvt.rn." ELEMENT_PTX "x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}

// PTX names shared memory by a 32-bit address; a C++ pointer is a 64-bit generic one.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- cp.async: global to shared memory without passing through registers ---------------------------
// 16 bytes; where `inside` is false nothing is read and the 16 bytes become zero.
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, bool inside) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// ---- ldmatrix, mma.sync ----------------------------------------------------------------------------
// Four 8x8 matrices; lanes 8i..8i+7 give the addresses of the rows of matrix i.
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
// d += a * b of one warp: 16x16 times 16x8.
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." ELEMENT_PTX "." ELEMENT_PTX ".f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// The 16 x 8 sums of a warp to C: lane l holds columns 2(l % 4) and the next one, of row l / 4 (first two) and l / 4 + 8.
__device__ __forceinline__ void store_pair(const float (&d)[4], element* c, int row, int column, int m, int n) {
  const int lane = threadIdx.x % 32, y = row + lane / 4, x = column + lane % 4 * 2;
  if (x >= n) return; // n is even: a pair is inside or outside as a whole
  if (y < m) *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(y) * n + x) = pack(d[0], d[1]);
  if (y + 8 < m) *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(y + 8) * n + x) = pack(d[2], d[3]);
}
