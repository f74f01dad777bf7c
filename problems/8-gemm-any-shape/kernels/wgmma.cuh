// wgmma of one warpgroup with either order of each operand: d (+)= a * b, 64 x 16 times 16 x N, N twice the accumulators of a thread.
// MN_A: A lies M-major (rows of k, as the transposed A); MN_B: B lies N-major (rows of k). 0: rows along k. hopper.cuh has the
// N of the ladder in the one order that it needs.
#pragma once
#include "hopper.cuh"

#define WGMMA_OF(N, NAMES, A, B, ACCUMULATE, A_ORDER, B_ORDER)                                                     \
  "{ .reg .pred p; setp.ne.b32 p, " ACCUMULATE ", 0;\n"                                                            \
  "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." ELEMENT_PTX "." ELEMENT_PTX " {" NAMES "}, " A ", " B           \
  ", p, 1, 1, " A_ORDER ", " B_ORDER "; }"
#define OPERANDS "l"(a), "l"(b), "r"(accumulate), "n"(MN_A), "n"(MN_B)
#define REGISTERS_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[4], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("8", "%0,%1,%2,%3", "%4", "%5", "%6", "%7", "%8") : REGISTERS_4(d, 0) : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[8], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("16", "%0,%1,%2,%3,%4,%5,%6,%7", "%8", "%9", "%10", "%11", "%12") : REGISTERS_8(d, 0) : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[16], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("32", "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15", "%16", "%17", "%18", "%19", "%20")
               : REGISTERS_8(d, 0), REGISTERS_8(d, 8)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[24], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("48", "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23",
                        "%24", "%25", "%26", "%27", "%28")
               : REGISTERS_8(d, 0), REGISTERS_8(d, 8), REGISTERS_8(d, 16)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("64", NAMES_0, "%32", "%33", "%34", "%35", "%36") : REGISTERS_32(d, 0) : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[40], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("80", NAMES_0 ",%32,%33,%34,%35,%36,%37,%38,%39",
                        "%40", "%41", "%42", "%43", "%44")
               : REGISTERS_32(d, 0), REGISTERS_8(d, 32)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[48], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("96", NAMES_0 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47",
                        "%48", "%49", "%50", "%51", "%52")
               : REGISTERS_32(d, 0), REGISTERS_8(d, 32), REGISTERS_8(d, 40)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[56], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("112", NAMES_0 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55",
                        "%56", "%57", "%58", "%59", "%60")
               : REGISTERS_32(d, 0), REGISTERS_8(d, 32), REGISTERS_8(d, 40), REGISTERS_8(d, 48)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("128", NAMES_0 "," NAMES_1, "%64", "%65", "%66", "%67", "%68")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[72], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("144", NAMES_0 "," NAMES_1 ",%64,%65,%66,%67,%68,%69,%70,%71",
                        "%72", "%73", "%74", "%75", "%76")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_8(d, 64)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[80], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("160", NAMES_0 "," NAMES_1 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79",
                        "%80", "%81", "%82", "%83", "%84")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_8(d, 64), REGISTERS_8(d, 72)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[88], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("176", NAMES_0 "," NAMES_1 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87",
                        "%88", "%89", "%90", "%91", "%92")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_8(d, 64), REGISTERS_8(d, 72), REGISTERS_8(d, 80)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[96], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("192", NAMES_0 "," NAMES_1 "," NAMES_2, "%96", "%97", "%98", "%99", "%100")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[104], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("208", NAMES_0 "," NAMES_1 "," NAMES_2 ",%96,%97,%98,%99,%100,%101,%102,%103",
                        "%104", "%105", "%106", "%107", "%108")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_8(d, 96)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[112], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("224", NAMES_0 "," NAMES_1 "," NAMES_2 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111",
                        "%112", "%113", "%114", "%115", "%116")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_8(d, 96), REGISTERS_8(d, 104)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[120], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("240", NAMES_0 "," NAMES_1 "," NAMES_2 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119",
                        "%120", "%121", "%122", "%123", "%124")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_8(d, 96), REGISTERS_8(d, 104), REGISTERS_8(d, 112)
               : OPERANDS);
}
template <int MN_A, int MN_B>
__device__ __forceinline__ void wgmma_of(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(WGMMA_OF("256", NAMES_0 "," NAMES_1 "," NAMES_2 "," NAMES_3, "%128", "%129", "%130", "%131", "%132")
               : REGISTERS_32(d, 0), REGISTERS_32(d, 32), REGISTERS_32(d, 64), REGISTERS_32(d, 96)
               : OPERANDS);
}

// Bytes from a tile's begin to its row (or, MN-major, its column) `first`, a multiple of 64.
template <int MN> ANYWHERE constexpr int bytes_to(int first) { return MN ? first / 64 * BOX_BYTES : first * 128; }
