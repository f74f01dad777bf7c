// kernels whose character is decided by the execution pipes
#include "kh.h"
#include <mma.h>
// --- gradient noise over several octaves (hash + interpolation, all mixed)
__device__ __forceinline__ float u01(uint32_t h) {
  return __uint_as_float((h >> 9) | 0x3f800000u);
}
__global__ void __launch_bounds__(256) gradient_noise(float* o, int n, int oct) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float x = i * 1.7e-4f, acc0 = 0, acc1 = 0;
  uint32_t lat = i * 7u;
  float fx = x - .3f, fy = x * .7f;
#pragma unroll 2
  for (int k = 0; k < oct; k++) {
    uint32_t h0 = lat ^ (lat >> 15), h1 = lat ^ 0x9e3779b9u;
    h0 = h0 * 0x2c1b3c6du;
    h1 = ((h1 >> 7) ^ (h0 << 3)) + h0;
    h0 ^= h1 >> 11;
    float g0 = u01(h0), g1 = u01(h1);
    float w = fx * fx, t = fmaf(fx, -2.f, 3.f);
    w *= t;
    float d0 = fmaf(g0, fx, -1.f), d1 = fmaf(g1, fy, -.5f), e0 = fmaf(g0, fy, d1), e1 = fmaf(g1, fx, d0);
    float a = fmaf(w, d1 - d0, d0), b = fmaf(w, e1 - e0, e0);
    acc0 = fmaf(a, .5f, acc0);
    acc1 = fmaf(b, .25f, acc1);
    fx = fmaf(fx, .9f, a * 1e-3f);
    fy = fmaf(fy, .8f, b * 1e-3f);
    lat += h1;
  }
  o[i] = acc0 + acc1;
}
// --- wavetable voices: phase, table read, interpolation, envelope, limiter
__global__ void __launch_bounds__(256) wavetable_voices(const float* tab, float* o, int n, int len) {
  __shared__ float T[2048 + 64];
  for (int i = threadIdx.x; i < 2048 + 64; i += 256) T[i] = tab[i & 2047];
  __syncthreads();
  int i = blockIdx.x * 256 + threadIdx.x;
  uint32_t ph = (uint32_t)i << 2, inc = 4096u * 4 + ((i >> 5) & 63) * 4;
  float env = 1.f, out = 0, lp = 0, bp = 0;
  uint32_t nz = i * 977u + 1;
#pragma unroll 4
  for (int k = 0; k < len; k++) {
    uint32_t a = ph & 0x1ffcu;
    float s = *(const float*)((const char*)T + a);
    float fr = __uint_as_float((ph >> 9) | 0x3f800000u);
    float e = fmaf(env, .999f, 1e-5f);
    float v = fmaf(s, fr, -s);
    v = fmaf(v, e, lp);
    lp = fmaf(v - lp, .1f, lp);
    bp = fmaf(lp, .2f, bp * .7f);
    float w = fmaf(bp, fmaf(bp, -.15f, .5f), v);
    w = fmaxf(fminf(w, 1.f), -1.f);
    nz ^= nz << 5;
    nz ^= nz >> 9;
    w = __uint_as_float(__float_as_uint(w) ^ (nz & 3u));
    out = fmaf(w, .01f, out);
    env = fmaf(e, .5f, env * .5f);
    ph += inc;
  }
  o[i] = out;
}
// --- digest of blocks of words
__global__ void __launch_bounds__(256) digest_rounds(const uint32_t* in, uint32_t* o, int n, int rounds) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint32_t a = in[i], b = in[i + n], c = in[i + 2 * n], d = in[i + 3 * n];
#pragma unroll 4
  for (int r = 0; r < rounds; r++) {
    uint32_t f = (b & c) | (~b & d);
    uint32_t t = a + f + 0x5a827999u + r;
    t = __funnelshift_l(t, t, 7);
    a = d;
    d = c;
    c = __funnelshift_l(b, b, 30);
    b = t ^ (a + c);
    uint32_t g = (b ^ c ^ d) + a;
    a = __funnelshift_l(g, g, 13) ^ 0x6ed9eba1u;
  }
  o[i] = a ^ b ^ c ^ d;
}
// --- modular powers (Montgomery)
__global__ void __launch_bounds__(256) modular_powers(const uint32_t* in, uint32_t* o, int n, int e) {
  int i = blockIdx.x * 256 + threadIdx.x;
  const uint32_t M = 4294967291u, ni = 0x33333333u;
  uint32_t x[4];
#pragma unroll
  for (int k = 0; k < 4; k++) x[k] = in[i + k * n];
#pragma unroll 2
  for (int r = 0; r < e; r++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      uint64_t t = (uint64_t)x[k] * x[k];
      uint32_t m = (uint32_t)t * ni;
      uint32_t h = __umulhi(m, M);
      x[k] = (uint32_t)(t >> 32) - h;
    }
  }
  o[i] = x[0] ^ x[1] ^ x[2] ^ x[3];
}
// --- phase screens: sums of plane waves
__global__ void __launch_bounds__(256) phase_screens(const float4* wv, float2* o, int nx, int nw) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = (i % nx) * .01f, y = (i / nx) * .01f, re = 0, im = 0;
#pragma unroll 4
  for (int k = 0; k < nw; k++) {
    float4 w = __ldg(wv + k);
    float p = fmaf(w.x, x, fmaf(w.y, y, w.z));
    re = fmaf(w.w, __cosf(p), re);
    im = fmaf(w.w, __sinf(p), im);
  }
  o[i] = make_float2(re, im);
}
// --- logistic likelihood of many responses
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rcpf(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}
__global__ void __launch_bounds__(256) item_response(const float* th, float* o, int n, int items) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float t = th[i], ll = 0, g = 0;
#pragma unroll 4
  for (int k = 0; k < items; k++) {
    float z = fmaf(t, .3f + k * .01f, -.2f * k + 1.f);
    float e = ex2(z) + 1.f;
    ll += lg2(e);
    g += rcpf(e);
  }
  o[i] = ll - g;
}
// --- Lennard-Jones inside cells of 128 atoms, double / float
template <class T>
__device__ __forceinline__ void lj(const T* p, T* o, int reps) {
  __shared__ T sx[128], sy[128], sz[128];
  int t = threadIdx.x;
  size_t b = (size_t)blockIdx.x * 384;
  sx[t] = p[b + t];
  sy[t] = p[b + 128 + t];
  sz[t] = p[b + 256 + t];
  __syncthreads();
  T x = sx[t] + T(1.5), y = sy[t], z = sz[t], fx = 0, fy = 0, fz = 0;
  for (int r = 0; r < reps; r++) {
    T sh = T(.001) * r;
#pragma unroll 8
    for (int j = 0; j < 128; j++) {
      T dx = x - sx[j], dy = y - sy[j], dz = z - sz[j] + sh;
      T q = dx * dx + dy * dy + dz * dz;
      T w = T(2) - q * T(.3);
      w = w * (T(2) - q * w);
      w = w * (T(2) - q * w);
      T w3 = w * w * w;
      T f = w3 * (w3 - T(.5)) * w;
      fx += f * dx;
      fy += f * dy;
      fz += f * dz;
    }
  }
  o[b + t] = fx;
  o[b + 128 + t] = fy;
  o[b + 256 + t] = fz;
}
__global__ void __launch_bounds__(128) lj_cells_a(const double* p, double* o, int reps) {
  lj<double>(p, o, reps);
}
__global__ void __launch_bounds__(128) lj_cells_b(const float* p, float* o, int reps) {
  lj<float>(p, o, reps);
}
// --- Kepler's equation by Newton with series for sine and cosine
__global__ void __launch_bounds__(256) kepler_orbits(const double* M, double* o, int n, int it) {
  int i = blockIdx.x * 256 + threadIdx.x;
  double m0 = M[i], m1 = M[i + n], e0 = m0, e1 = m1;
#pragma unroll 1
  for (int k = 0; k < it; k++) {
#define ST(e, m)                                                                                      \
  {                                                                                                   \
    double q = e * e;                                                                                 \
    double s = e * fma(q, fma(q, fma(q, fma(q, 2.7557e-6, -1.98412e-4), 8.33333e-3), -.1666667), 1.); \
    double c = fma(q, fma(q, fma(q, fma(q, 2.48e-5, -1.3889e-3), 4.16667e-2), -.5), 1.);              \
    double f = fma(-.3, s, e) - m;                                                                    \
    double d = fma(-.3, c, 1.);                                                                       \
    double w = fma(-d, .9, 1.9);                                                                      \
    w = w * fma(-d, w, 2.);                                                                           \
    e = fma(-f, w, e);                                                                                \
  }
    ST(e0, m0) ST(e1, m1)
  }
  o[i] = e0 + e1;
}
// --- high-degree polynomials with constant coefficients
__constant__ float c_p[64];
__global__ void __launch_bounds__(256) polynomial_surface(const float4* x, float4* o, int reps) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = x[i];
  float a = .1f, b = .2f, c = .3f, d = .4f;
#pragma unroll 1
  for (int r = 0; r < reps; r++) {
#pragma unroll
    for (int k = 0; k < 64; k++) {
      a = fmaf(a, v.x, c_p[k]);
      b = fmaf(b, v.y, c_p[k]);
      c = fmaf(c, v.z, c_p[k]);
      d = fmaf(d, v.w, c_p[k]);
    }
  }
  o[i] = make_float4(a, b, c, d);
}
// --- powers of small transfer matrices
__global__ void __launch_bounds__(128) transfer_powers(const float* in, float* o, int n, int reps) {
  int i = blockIdx.x * 128 + threadIdx.x;
  float a[16], b[16], c[16];
#pragma unroll
  for (int k = 0; k < 16; k++) {
    a[k] = in[(size_t)k * n + i];
    b[k] = a[k] * .24f;
  }
#pragma unroll 1
  for (int r = 0; r < reps; r++) {
#define MM(C, Aa)                                                                               \
  _Pragma("unroll") for (int y = 0; y < 4; y++) _Pragma("unroll") for (int x = 0; x < 4; x++) { \
    float s = Aa[y * 4] * b[x];                                                                 \
    _Pragma("unroll") for (int k = 1; k < 4; k++) s = fmaf(Aa[y * 4 + k], b[k * 4 + x], s);     \
    C[y * 4 + x] = s;                                                                           \
  }
    MM(c, a) MM(a, c)
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 16; k++) s += a[k];
  o[i] = s;
}
// --- long filter along a line: every tap from the on-chip line / window in registers
#define TAPS 128
__constant__ float c_f[TAPS];
__global__ void __launch_bounds__(256) line_filter_a(const float* x, float* y) {
  __shared__ float s[1024 + TAPS];
  size_t b = (size_t)blockIdx.x * 1024;
  for (int i = threadIdx.x; i < 1024 + TAPS; i += 256) s[i] = x[b + i];
  __syncthreads();
  float a[4] = {0, 0, 0, 0};
#pragma unroll 32
  for (int k = 0; k < TAPS; k++) {
#pragma unroll
    for (int j = 0; j < 4; j++) a[j] = fmaf(s[threadIdx.x + 256 * j + k], c_f[k], a[j]);
  }
#pragma unroll
  for (int j = 0; j < 4; j++) y[b + threadIdx.x + 256 * j] = a[j];
}
__global__ void __launch_bounds__(256) line_filter_b(const float* x, float* y) {
  __shared__ float4 s4[(1024 + TAPS) / 4];
  size_t b = (size_t)blockIdx.x * 1024;
  const float4* x4 = (const float4*)(x + b);
  for (int i = threadIdx.x; i < (1024 + TAPS) / 4; i += 256) s4[i] = x4[i];
  __syncthreads();
  float a[4] = {0, 0, 0, 0};
  float4 p = s4[threadIdx.x];
#pragma unroll 8
  for (int k = 0; k < TAPS; k += 4) {
    float4 q = s4[threadIdx.x + k / 4 + 1];
    float w[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
      for (int j = 0; j < 4; j++) a[j] = fmaf(w[u + j], c_f[k + u], a[j]);
    p = q;
  }
  ((float4*)(y + b))[threadIdx.x] = make_float4(a[0], a[1], a[2], a[3]);
}
// --- Walsh butterflies over 2048 points in a block
__global__ void __launch_bounds__(256) walsh_stages(const float* x, float* y, int reps) {
  __shared__ float s[2048];
  size_t b = (size_t)blockIdx.x * 2048;
#pragma unroll
  for (int j = 0; j < 8; j++) s[j * 256 + threadIdx.x] = x[b + j * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < reps; r++)
#pragma unroll 1
    for (int h = 32; h < 2048; h <<= 1) {
      float p[4], q[4];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int t = j * 256 + threadIdx.x, i = ((t & ~(h - 1)) << 1) | (t & (h - 1));
        p[j] = s[i];
        q[j] = s[i + h];
        s[i] = p[j] + q[j];
        s[i + h] = p[j] - q[j];
      }
      __syncthreads();
    }
#pragma unroll
  for (int j = 0; j < 8; j++) y[b + j * 256 + threadIdx.x] = s[j * 256 + threadIdx.x];
}
// --- scores of queries against keys, bf16 operands
__global__ void __launch_bounds__(256)
    query_key_scores(const __nv_bfloat16* Q, const __nv_bfloat16* K, float* S, int N, int D) {
  __shared__ float q[16][132], k[16][132];
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  int r0 = blockIdx.y * 128, c0 = blockIdx.x * 128;
  float a[8][8];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) a[i][j] = 0;
  for (int d = 0; d < D; d += 16) {
#pragma unroll
    for (int u = 0; u < 8; u++) {
      int r = ty + u * 16;
      q[tx][r] = __bfloat162float(Q[(size_t)(r0 + r) * D + d + tx]);
      k[tx][r] = __bfloat162float(K[(size_t)(c0 + r) * D + d + tx]);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 16; e++) {
      float4 qa = *(float4*)&q[e][ty * 4], qb = *(float4*)&q[e][64 + ty * 4], ka = *(float4*)&k[e][tx * 4],
             kb = *(float4*)&k[e][64 + tx * 4];
      float f[8] = {qa.x, qa.y, qa.z, qa.w, qb.x, qb.y, qb.z, qb.w},
            g[8] = {ka.x, ka.y, ka.z, ka.w, kb.x, kb.y, kb.z, kb.w};
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) a[i][j] = fmaf(f[i], g[j], a[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
      S[(size_t)(r0 + (i < 4 ? ty * 4 + i : 60 + ty * 4 + i)) * N + c0 + (j < 4 ? tx * 4 + j : 60 + tx * 4 + j)] =
          a[i][j];
}
// --- feature projection Y = X W in single precision, 64x64 tiles
__global__ void __launch_bounds__(256) feature_projection(const float* X, const float* W, float* Y, int N, int D) {
  __shared__ float xs[32][68], ws[32][64];
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  float a[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) a[i][j] = 0;
  for (int d = 0; d < D; d += 32) {
    int l = threadIdx.x & 31, w = threadIdx.x >> 5;
#pragma unroll
    for (int u = 0; u < 8; u++) {
      xs[l][w + u * 8] = X[(size_t)(r0 + w + u * 8) * D + d + l];
    }
#pragma unroll
    for (int u = 0; u < 8; u++) {
      int e = threadIdx.x + u * 256;
      ws[e >> 6][e & 63] = W[(size_t)(d + (e >> 6)) * N + c0 + (e & 63)];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 32; e++) {
      float4 f4 = *(float4*)&xs[e][ty * 4], g4 = *(float4*)&ws[e][tx * 4];
      float f[4] = {f4.x, f4.y, f4.z, f4.w}, g[4] = {g4.x, g4.y, g4.z, g4.w};
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) a[i][j] = fmaf(f[i], g[j], a[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    *(float4*)&Y[(size_t)(r0 + ty * 4 + i) * N + c0 + tx * 4] = make_float4(a[i][0], a[i][1], a[i][2], a[i][3]);
}
void run_cmp() {
  if (WANT("gradient_noise")) {
    int n = 132 * 2048 * 4;
    auto o = A<float>(n);
    go("gradient_noise", [&] { gradient_noise<<<n / 256, 256>>>(o, n, 256); });
    freeall();
  }
  if (WANT("wavetable_voices")) {
    int n = 132 * 2048 * 4;
    auto o = A<float>(n);
    auto t = F(2048, -1, 1);
    go("wavetable_voices", [&] { wavetable_voices<<<n / 256, 256>>>(t, o, n, 400); });
    freeall();
  }
  if (WANT("digest_rounds")) {
    int n = 132 * 2048 * 4;
    auto i = U((size_t)n * 4);
    auto o = A<uint32_t>(n);
    go("digest_rounds", [&] { digest_rounds<<<n / 256, 256>>>(i, o, n, 400); });
    freeall();
  }
  if (WANT("modular_powers")) {
    int n = 132 * 2048 * 2;
    auto i = U((size_t)n * 4);
    auto o = A<uint32_t>(n);
    go("modular_powers", [&] { modular_powers<<<n / 256, 256>>>(i, o, n, 160); });
    freeall();
  }
  if (WANT("phase_screens")) {
    int n = 132 * 2048 * 4;
    auto w = F(4 * 512, -3, 3);
    auto o = A<float2>(n);
    go("phase_screens", [&] { phase_screens<<<n / 256, 256>>>((float4*)w, o, 1024, 512); });
    freeall();
  }
  if (WANT("item_response")) {
    int n = 132 * 2048 * 8;
    auto t = F(n, -2, 2), o = A<float>(n);
    go("item_response", [&] { item_response<<<n / 256, 256>>>(t, o, n, 120); });
    freeall();
  }
  if (WANT("lj_cells")) {
    int nc = 132 * 64;
    auto p = D((size_t)nc * 384), o = A<double>((size_t)nc * 384);
    go("lj_cells_a", [&] { lj_cells_a<<<nc, 128>>>(p, o, 4); });
    auto pf = F((size_t)nc * 384), of = A<float>((size_t)nc * 384);
    go("lj_cells_b", [&] { lj_cells_b<<<nc, 128>>>(pf, of, 8); });
    freeall();
  }
  if (WANT("kepler_orbits")) {
    int n = 132 * 2048 * 2;
    auto m = D(2 * (size_t)n), o = A<double>(n);
    go("kepler_orbits", [&] { kepler_orbits<<<n / 256, 256>>>(m, o, n, 80); });
    freeall();
  }
  if (WANT("polynomial_surface")) {
    int n = 132 * 2048 * 2;
    auto x = F((size_t)n * 4, -1, 1), o = A<float>((size_t)n * 4), c = F(64);
    CK(cudaMemcpyToSymbol(c_p, c, 256, 0, cudaMemcpyDeviceToDevice));
    go("polynomial_surface", [&] { polynomial_surface<<<n / 256, 256>>>((float4*)x, (float4*)o, 24); });
    freeall();
  }
  if (WANT("transfer_powers")) {
    int n = 132 * 1024 * 4;
    auto x = F((size_t)n * 16), o = A<float>(n);
    go("transfer_powers", [&] { transfer_powers<<<n / 128, 128>>>(x, o, n, 60); });
    freeall();
  }
  if (WANT("line_filter")) {
    int n = 32 << 20;
    auto x = F(n + 1024), y = A<float>(n), c = F(TAPS);
    CK(cudaMemcpyToSymbol(c_f, c, TAPS * 4, 0, cudaMemcpyDeviceToDevice));
    go("line_filter_a", [&] { line_filter_a<<<n / 1024, 256>>>(x, y); });
    go("line_filter_b", [&] { line_filter_b<<<n / 1024, 256>>>(x, y); });
    freeall();
  }
  if (WANT("walsh_stages")) {
    int n = 132 * 8 * 4 * 2048;
    auto x = F(n), y = A<float>(n);
    go("walsh_stages", [&] { walsh_stages<<<n / 2048, 256>>>(x, y, 16); });
    freeall();
  }
  if (WANT("query_key_scores")) {
    int N = 4096, D = 512;
    auto q = A<__nv_bfloat16>((size_t)N * D), k = A<__nv_bfloat16>((size_t)N * D);
    std::vector<__nv_bfloat16> h((size_t)N * D);
    for (size_t i = 0; i < h.size(); i++) h[i] = __float2bfloat16((mix32((uint32_t)i) >> 8) * 1e-7f);
    CK(cudaMemcpy(q, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(k, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
    auto s = A<float>((size_t)N * N);
    go("query_key_scores", [&] { query_key_scores<<<dim3(N / 128, N / 128), 256>>>(q, k, s, N, D); });
    freeall();
  }
  if (WANT("feature_projection")) {
    int M = 8448, N = 2048, Dm = 512;
    auto x = F((size_t)M * Dm), w = F((size_t)Dm * N), y = A<float>((size_t)M * N);
    go("feature_projection", [&] { feature_projection<<<dim3(N / 64, M / 64), 256>>>(x, w, y, N, Dm); });
    freeall();
  }
}
