// kernels whose character is decided by memory: particles, frames, transposes, waves, codebooks, DCT tiles, text,
// histograms, clusters
#include "kh.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// --- particle push, state kept as double / as float
template <class T2, class T>
__device__ __forceinline__ void push_one(T2* x, const T2* v, const T2* f, T dt, size_t i) {
  T2 a = x[i], b = v[i], c = f[i];
  a.x += dt * (b.x + dt * c.x);
  a.y += dt * (b.y + dt * c.y);
  x[i] = a;
}
__global__ void particle_push_a(double2* x, const double2* v, const double2* f, double dt, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) push_one<double2, double>(x, v, f, dt, i);
}
__global__ void particle_push_b(float2* x, const float2* v, const float2* f, float dt, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) push_one<float2, float>(x, v, f, dt, i);
}
// --- alpha blend of 8-bit content held as float4 / as packed bytes
__global__ void frame_blend_a(float4* o, const float4* p, const float4* q, float al, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = p[i], b = q[i];
  o[i] = make_float4(a.x + al * (b.x - a.x), a.y + al * (b.y - a.y), a.z + al * (b.z - a.z), a.w + al * (b.w - a.w));
}
__device__ __forceinline__ uint32_t bl(uint32_t a, uint32_t b, uint32_t w) {
  uint32_t lo = ((a & 0xff00ffu) * (256 - w) + (b & 0xff00ffu) * w) >> 8 & 0xff00ffu;
  uint32_t hi = ((a >> 8 & 0xff00ffu) * (256 - w) + (b >> 8 & 0xff00ffu) * w) & 0xff00ff00u;
  return lo | hi;
}
__global__ void frame_blend_b(uint4* o, const uint4* p, const uint4* q, uint32_t w, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 a = p[i], b = q[i];
  o[i] = make_uint4(bl(a.x, b.x, w), bl(a.y, b.y, w), bl(a.z, b.z, w), bl(a.w, b.w, w));
}
// --- kinetic energy out of records of 16 floats / out of planes
__global__ void kinetic_energy_a(const float* rec, float* ke, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float m = rec[(size_t)i * 16 + 1], v = rec[(size_t)i * 16 + 10];
    ke[i] = .5f * m * v * v;
  }
}
__global__ void kinetic_energy_b(const float* m, const float* v, float* ke, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ke[i] = .5f * m[i] * v[i] * v[i];
}
// --- swap the two axes of a complex field
__global__ void axis_swap_a(const float2* in, float2* out, int N) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c < N) out[(size_t)r * N + c] = in[(size_t)c * N + r];
}
__global__ void axis_swap_b(const float2* in, float2* out, int N) {
  __shared__ float2 t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * N + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) out[(size_t)(y + j) * N + x] = t[threadIdx.x][threadIdx.y + j];
}
// --- wave equation on a slab of large planes
__global__ void wave_slab_a(const float* __restrict__ u, float* __restrict__ w, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  size_t pl = (size_t)nx * ny, i = z * pl + (size_t)y * nx + x;
  float c = u[i], a = u[z > 0 ? i - pl : i], b = u[z < nz - 1 ? i + pl : i], l = u[x > 0 ? i - 1 : i],
        r = u[x < nx - 1 ? i + 1 : i];
  w[i] = c + .1f * (a + b + l + r - 4.f * c);
}
__global__ void wave_slab_b(const float* __restrict__ u, float* __restrict__ w, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  size_t pl = (size_t)nx * ny, i = (size_t)y * nx + x;
  float c = u[i], a = c;
#pragma unroll 4
  for (int z = 0; z < nz; z++, i += pl) {
    float b = z < nz - 1 ? u[i + pl] : c;
    float l = u[x > 0 ? i - 1 : i], r = u[x < nx - 1 ? i + 1 : i];
    w[i] = c + .1f * (a + b + l + r - 4.f * c);
    a = c;
    c = b;
  }
}
// --- codebook rows (1 KB each) matched against a probe; order of requests is what differs between the two launches'
// inputs
template <int V>
__device__ __forceinline__ void cb_body(const float4* tab, const int* req, const float4* probe, float* score,
                                        int nreq) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, l = threadIdx.x & 31;
  if (w >= nreq) return;
  const float4* r = tab + (size_t)req[w] * 64;
  float4 a = r[l], b = r[l + 32], p = probe[l], q = probe[l + 32];
  float s = a.x * p.x + a.y * p.y + a.z * p.z + a.w * p.w + b.x * q.x + b.y * q.y + b.z * q.z + b.w * q.w;
#pragma unroll
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (!l) score[w] = s;
}
__global__ void codebook_match_a(const float4* tab, const int* req, const float4* probe, float* score, int nreq) {
  cb_body<0>(tab, req, probe, score, nreq);
}
__global__ void codebook_match_b(const float4* tab, const int* req, const float4* probe, float* score, int nreq) {
  cb_body<1>(tab, req, probe, score, nreq);
}
// --- 32x32 block transform: passes along rows and along columns of a tile
template <int P>
__device__ __forceinline__ void dct_body(const float* in, float* out, int rounds) {
  extern __shared__ float sm[];
  int l = threadIdx.x & 31, wp = threadIdx.x >> 5;
  float* s = sm + wp * 32 * P;
  size_t base = ((size_t)blockIdx.x * 8 + wp) * 1024;
#pragma unroll 8
  for (int i = 0; i < 32; i++) s[i * P + l] = in[base + i * 32 + l];
  __syncwarp();
  for (int r = 0; r < rounds; r++) {
    float p = 0.f;
#pragma unroll 8
    for (int k = 0; k < 32; k++) {
      float v = s[l * P + k];
      float q = .7f * v + .3f * p;
      s[l * P + k] = q;
      p = v;
    }
    __syncwarp();
    p = 0.f;
#pragma unroll 8
    for (int k = 0; k < 32; k++) {
      float v = s[k * P + l];
      float q = .6f * v - .4f * p;
      s[k * P + l] = q;
      p = v;
    }
    __syncwarp();
  }
#pragma unroll 8
  for (int i = 0; i < 32; i++) out[base + i * 32 + l] = s[i * P + l];
}
__global__ void __launch_bounds__(256) tile_transform_a(const float* in, float* out, int rounds) {
  dct_body<32>(in, out, rounds);
}
__global__ void __launch_bounds__(256) tile_transform_b(const float* in, float* out, int rounds) {
  dct_body<33>(in, out, rounds);
}
// --- letter frequencies, one private row of counters per thread
template <int M>
__device__ __forceinline__ void letters(const uint4* txt, uint32_t* tot, size_t n16) {
  __shared__ uint32_t c[32 * 256];
  int t = threadIdx.x;
  for (int i = 0; i < 32; i++) c[i * 256 + t] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)256 + t; i < n16; i += (size_t)gridDim.x * 256) {
    uint4 v = txt[i];
    uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int b = 0; b < 4; b++) {
        uint32_t L = (w[k] >> (8 * b)) & 31;
        c[M ? L * 256 + t : t * 32 + L]++;
      }
  }
  __syncthreads();
  if (t < 32) {
    uint32_t s = 0;
    for (int j = 0; j < 256; j++) {
      int k = (j + t) & 255;
      s += c[M ? t * 256 + k : k * 32 + t];
    }
    atomicAdd(tot + t, s);
  }
}
__global__ void __launch_bounds__(256) letter_freq_a(const uint4* txt, uint32_t* tot, size_t n16) {
  letters<0>(txt, tot, n16);
}
__global__ void __launch_bounds__(256) letter_freq_b(const uint4* txt, uint32_t* tot, size_t n16) {
  letters<1>(txt, tot, n16);
}
// --- photon energies binned into eight bins
__global__ void photon_bins_a(const float* e, uint32_t* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(h + min(7, (int)(e[i] * 8.f)), 1u);
}
__global__ void photon_bins_b(const float4* e, uint32_t* h, int n4) {
  __shared__ uint32_t s[8];
  if (threadIdx.x < 8) s[threadIdx.x] = 0;
  __syncthreads();
  unsigned long long c = 0;
  int k = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4 && k < 63; i += gridDim.x * blockDim.x, k++) {
    float4 v = e[i];
    c += 1ull << (8 * min(7, (int)(v.x * 8.f)));
    c += 1ull << (8 * min(7, (int)(v.y * 8.f)));
    c += 1ull << (8 * min(7, (int)(v.z * 8.f)));
    c += 1ull << (8 * min(7, (int)(v.w * 8.f)));
  }
#pragma unroll
  for (int b = 0; b < 8; b++) {
    uint32_t x = __reduce_add_sync(~0u, (uint32_t)(c >> (8 * b)) & 255u);
    if ((threadIdx.x & 31) == 0) atomicAdd(s + b, x);
  }
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(h + threadIdx.x, s[threadIdx.x]);
}
// --- total energy of a gas
__global__ void gas_energy_a(const float* x, const float* v, double* tot, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double e = .5 * v[i] * v[i] + x[i];
    atomicAdd(tot + (i & 3), e);
  }
}
__global__ void gas_energy_b(const float* x, const float* v, double* tot, int n) {
  double e = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float f = .5f * v[i] * v[i] + x[i];
    e += f;
  }
  __shared__ double s[8];
  for (int o = 16; o; o >>= 1) e += __shfl_down_sync(~0u, e, o);
  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = e;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int j = 1; j < 8; j++) e += s[j];
    atomicAdd(tot, e);
  }
}
// --- ring of subdomains in a cluster
template <int R>
__device__ __forceinline__ void ring(const float4* in, float4* out, int rounds) {
  extern __shared__ float4 buf[];
  auto cl = cg::this_cluster();
  unsigned me = cl.block_rank();
  int t = threadIdx.x;
#pragma unroll
  for (int j = 0; j < 4; j++) buf[j * 1024 + t] = in[(size_t)blockIdx.x * 4096 + j * 1024 + t];
  cl.sync();
  float4 a = make_float4(0, 0, 0, 0);
  for (int r = 0; r < rounds; r++) {
    const float4* src = R ? cl.map_shared_rank(buf, (me + 1 + (r % 7)) & 7) : buf + 0 * r;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 v = src[j * 1024 + ((t + r * 32) & 1023)];
      a.x += v.x;
      a.y += v.y;
      a.z += v.z;
      a.w += v.w;
    }
  }
  out[(size_t)blockIdx.x * 1024 + t] = a;
  cl.sync();
}
__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(1024)
    subdomain_ring_a(const float4* in, float4* out, int rounds) {
  ring<1>(in, out, rounds);
}
__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(1024)
    subdomain_ring_b(const float4* in, float4* out, int rounds) {
  ring<0>(in, out, rounds);
}
// --- many profiles scored against one shared library
__global__ void __launch_bounds__(512) library_score_a(const float4* lib, const float4* q, float* o, int n) {
  float4 c = q[blockIdx.x];
  float s0 = 0, s1 = 0;
  int off = (int)(((long long)blockIdx.x * n / gridDim.x) & ~511);
#pragma unroll 8
  for (int i = threadIdx.x; i < n; i += 512) {
    int j = i + off;
    if (j >= n) j -= n;
    float4 v = __ldcg(lib + j);
    s0 += v.x * c.x + v.y * c.y;
    s1 += v.z * c.z + v.w * c.w;
  }
  atomicAdd(o + blockIdx.x, s0 + s1);
}
__global__ void __launch_bounds__(256) library_score_b(const float4* lib, const float4* q, float* o, int n) {
  float s[33];
#pragma unroll
  for (int k = 0; k < 33; k++) s[k] = 0;
  __shared__ float4 qs[33];
  if (threadIdx.x < 33) qs[threadIdx.x] = q[blockIdx.y * 33 + threadIdx.x];
  __syncthreads();
  int per = n / gridDim.x;
  const float4* L = lib + (size_t)blockIdx.x * per;
#pragma unroll 1
  for (int i = threadIdx.x; i < per; i += 1024) {
    float4 v[4];
#pragma unroll
    for (int u = 0; u < 4; u++) v[u] = (i + u * 256 < per) ? __ldcg(L + i + u * 256) : make_float4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < 33; k++) {
      float4 c = qs[k];
#pragma unroll
      for (int u = 0; u < 4; u++) s[k] += v[u].x * c.x + v[u].y * c.y + v[u].z * c.z + v[u].w * c.w;
    }
  }
#pragma unroll
  for (int k = 0; k < 33; k++) {
    float x = s[k];
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(o + blockIdx.y * 33 + k, x);
  }
}
void run_mem() {
  if (WANT("particle_push")) {
    size_t n = 12u << 20;
    auto x = D(2 * n), v = D(2 * n), f = D(2 * n);
    go("particle_push_a",
       [&] { particle_push_a<<<(n + 255) / 256, 256>>>((double2*)x, (double2*)v, (double2*)f, 1e-3, n); });
    freeall();
    auto a = F(2 * n), b = F(2 * n), c = F(2 * n);
    go("particle_push_b",
       [&] { particle_push_b<<<(n + 255) / 256, 256>>>((float2*)a, (float2*)b, (float2*)c, 1e-3f, n); });
    freeall();
  }
  if (WANT("frame_blend")) {
    size_t px = 80u << 20;
    auto p = F(px), q = F(px), o = A<float>(px);
    go("frame_blend_a", [&] { frame_blend_a<<<px / 4 / 256, 256>>>((float4*)o, (float4*)p, (float4*)q, .3f, px / 4); });
    go("frame_blend_b", [&] { frame_blend_b<<<px / 16 / 256, 256>>>((uint4*)o, (uint4*)p, (uint4*)q, 77, px / 16); });
    freeall();
  }
  if (WANT("kinetic_energy")) {
    int n = 16 << 20;
    auto r = F((size_t)n * 16);
    auto k = A<float>(n);
    go("kinetic_energy_a", [&] { kinetic_energy_a<<<n / 256, 256>>>(r, k, n); });
    go("kinetic_energy_b", [&] { kinetic_energy_b<<<n / 256, 256>>>(r, r + n, k, n); });
    freeall();
  }
  if (WANT("axis_swap")) {
    int N = 6144;
    auto i = F((size_t)N * N * 2), o = A<float>((size_t)N * N * 2);
    go("axis_swap_a", [&] { axis_swap_a<<<dim3(N / 256, N), 256>>>((float2*)i, (float2*)o, N); });
    go("axis_swap_b", [&] { axis_swap_b<<<dim3(N / 32, N / 32), dim3(32, 8)>>>((float2*)i, (float2*)o, N); });
    freeall();
  }
  if (WANT("wave_slab")) {
    int nx = 4096, ny = 5120, nz = 8;
    size_t n = (size_t)nx * ny * nz;
    auto u = F(n), w = A<float>(n);
    go("wave_slab_a", [&] { wave_slab_a<<<dim3(nx / 256, ny, nz), 256>>>(u, w, nx, ny, nz); });
    go("wave_slab_b", [&] { wave_slab_b<<<dim3(nx / 256, ny), 256>>>(u, w, nx, ny, nz); });
    freeall();
  }
  if (WANT("codebook_match")) {
    int rows = 200000, nreq = rows * 8;
    auto t = F((size_t)rows * 256), p = F(256), s = A<float>(nreq);
    std::vector<int> h(nreq);
    for (int i = 0; i < nreq; i++) h[i] = mix32(i * 77u + 5) % rows;
    auto ra = H(h);
    std::sort(h.begin(), h.end());
    auto rb = H(h);
    go("codebook_match_a", [&] { codebook_match_a<<<nreq / 8, 256>>>((float4*)t, ra, (float4*)p, s, nreq); });
    go("codebook_match_b", [&] { codebook_match_b<<<nreq / 8, 256>>>((float4*)t, rb, (float4*)p, s, nreq); });
    freeall();
  }
  if (WANT("tile_transform")) {
    int tiles = 132 * 48 * 5;
    auto i = F((size_t)tiles * 1024), o = A<float>((size_t)tiles * 1024);
    CK(cudaFuncSetAttribute(tile_transform_a, cudaFuncAttributeMaxDynamicSharedMemorySize, 34000));
    CK(cudaFuncSetAttribute(tile_transform_b, cudaFuncAttributeMaxDynamicSharedMemorySize, 34000));
    go("tile_transform_a", [&] { tile_transform_a<<<tiles / 8, 256, 8 * 32 * 32 * 4>>>(i, o, 3); });
    go("tile_transform_b", [&] { tile_transform_b<<<tiles / 8, 256, 8 * 32 * 33 * 4>>>(i, o, 3); });
    freeall();
  }
  if (WANT("letter_freq")) {
    size_t n = 256u << 20;
    std::vector<uint8_t> h(16u << 20);
    const char* acgt = "ACGT";
    for (size_t i = 0; i < h.size(); i++) h[i] = acgt[mix32((uint32_t)i) & 3];
    auto d = A<uint8_t>(n);
    for (int k = 0; k < 16; k++) CK(cudaMemcpy(d + (size_t)k * h.size(), h.data(), h.size(), cudaMemcpyHostToDevice));
    auto t = A<uint32_t>(32);
    go("letter_freq_a", [&] { letter_freq_a<<<132 * 6, 256>>>((uint4*)d, t, n / 16); });
    go("letter_freq_b", [&] { letter_freq_b<<<132 * 6, 256>>>((uint4*)d, t, n / 16); });
    freeall();
  }
  if (WANT("photon_bins")) {
    int n = 64 << 20;
    auto e = F(n);
    auto h = A<uint32_t>(8);
    go("photon_bins_a", [&] { photon_bins_a<<<(2 << 20) / 256, 256>>>(e, h, 2 << 20); });
    go("photon_bins_b", [&] { photon_bins_b<<<132 * 8, 256>>>((float4*)e, h, n / 4); });
    freeall();
  }
  if (WANT("gas_energy")) {
    int n = 48 << 20;
    auto x = F(n), v = F(n);
    auto t = A<double>(8);
    go("gas_energy_a", [&] { gas_energy_a<<<(1 << 20) / 256, 256>>>(x, v, t, 1 << 20); });
    go("gas_energy_b", [&] { gas_energy_b<<<132 * 8, 256>>>(x, v, t, n); });
    freeall();
  }
  if (WANT("subdomain_ring")) {
    auto i = F(128 * 4096 * 4);
    auto o = A<float4>(128 * 1024);
    CK(cudaFuncSetAttribute(subdomain_ring_a, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    CK(cudaFuncSetAttribute(subdomain_ring_b, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    go("subdomain_ring_a", [&] { subdomain_ring_a<<<128, 1024, 65536>>>((float4*)i, o, 160); });
    go("subdomain_ring_b", [&] { subdomain_ring_b<<<128, 1024, 65536>>>((float4*)i, o, 320); });
    freeall();
  }
  if (WANT("library_score")) {
    int n = 1 << 20;
    auto l = F((size_t)n * 4), q = F(264 * 4), o = A<float>(264);
    go("library_score_a", [&] { library_score_a<<<264, 512>>>((float4*)l, (float4*)q, o, n); });
    go("library_score_b", [&] { library_score_b<<<dim3(128, 8), 256>>>((float4*)l, (float4*)q, o, n); });
    freeall();
  }
}
