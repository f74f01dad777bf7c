#pragma once
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <cuda_bf16.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>
#include <algorithm>
#include <random>
#define CK(x)                                                                     \
  do {                                                                            \
    cudaError_t e_ = (x);                                                         \
    if (e_ != cudaSuccess) {                                                      \
      printf("ERR %s line %d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      fflush(stdout);                                                             \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)
extern std::vector<void*> g_bufs;
extern const char* g_only;
static __device__ __host__ __forceinline__ uint32_t mix32(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}
static __global__ void setup_f32(float* p, size_t n, uint32_t seed, float lo, float hi) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = lo + (hi - lo) * (mix32((uint32_t)i * 2654435761u + seed) >> 8) * (1.f / 16777216.f);
}
static __global__ void setup_f64(double* p, size_t n, uint32_t seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = (mix32((uint32_t)i * 2654435761u + seed) >> 8) * (1.0 / 16777216.0);
}
static __global__ void setup_u32(uint32_t* p, size_t n, uint32_t seed, uint32_t mod) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    uint32_t h = mix32((uint32_t)i * 2654435761u + seed);
    p[i] = mod ? h % mod : h;
  }
}
template <class T>
static T* A(size_t n) {
  void* p = nullptr;
  CK(cudaMalloc(&p, n * sizeof(T)));
  CK(cudaMemset(p, 0, n * sizeof(T)));
  g_bufs.push_back(p);
  return (T*)p;
}
static uint32_t g_seed = 17;
static float* F(size_t n, float lo = 0.f, float hi = 1.f) {
  float* p = A<float>(n);
  setup_f32<<<1024, 256>>>(p, n, g_seed += 7919, lo, hi);
  return p;
}
static double* D(size_t n) {
  double* p = A<double>(n);
  setup_f64<<<1024, 256>>>(p, n, g_seed += 7919);
  return p;
}
static uint32_t* U(size_t n, uint32_t mod = 0) {
  uint32_t* p = A<uint32_t>(n);
  setup_u32<<<1024, 256>>>(p, n, g_seed += 7919, mod);
  return p;
}
template <class T>
static T* H(const std::vector<T>& h) {
  T* p = A<T>(h.size());
  CK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
static void freeall() {
  for (void* p : g_bufs) CK(cudaFree(p));
  g_bufs.clear();
}
template <class L>
static void go(const char* name, L l) {
  l();
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  cudaEvent_t a, b;
  CK(cudaEventCreate(&a));
  CK(cudaEventCreate(&b));
  CK(cudaProfilerStart());
  CK(cudaEventRecord(a));
  l();
  CK(cudaEventRecord(b));
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaProfilerStop());
  float ms = 0;
  cudaEventElapsedTime(&ms, a, b);
  printf("%-24s %.4f ms\n", name, ms);
  fflush(stdout);
  cudaEventDestroy(a);
  cudaEventDestroy(b);
}
#define WANT(s) (!g_only || strstr(s, g_only))
