"""Two-dimensional turbulence, pseudo-spectral time stepping."""
import ctypes

import torch

import cubuild

N = 8192

SRC = r"""
#include <cuda_runtime.h>

// Builds the spectral velocity and gradient fields from the vorticity in one pass.
__global__ void fields(const float2* __restrict__ w, float2* __restrict__ u, float2* __restrict__ v,
                       int n, int half, float scale) {
  int kx = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (kx >= half) return;
  int ky = row <= n / 2 ? row : row - n;
  size_t i = (size_t)row * half + kx;
  float k2 = (float)kx * kx + (float)ky * ky;
  float inv = k2 > 0.f ? scale / k2 : 0.f;
  float2 a = w[i];
  u[i] = make_float2(-inv * ky * a.y, inv * ky * a.x);
  v[i] = make_float2(inv * kx * a.y, -inv * kx * a.x);
}

__global__ void flux(float4* __restrict__ u, float4* __restrict__ v, const float4* __restrict__ w, size_t n4) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 a = u[i], b = v[i], c = w[i];
  u[i] = make_float4(a.x * c.x, a.y * c.y, a.z * c.z, a.w * c.w);
  v[i] = make_float4(b.x * c.x, b.y * c.y, b.z * c.z, b.w * c.w);
}

__global__ void update(float2* __restrict__ w, const float2* __restrict__ fu, const float2* __restrict__ fv,
                       int n, int half, float dt, float nu) {
  int kx = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (kx >= half) return;
  int ky = row <= n / 2 ? row : row - n;
  size_t i = (size_t)row * half + kx;
  float k2 = (float)kx * kx + (float)ky * ky;
  float keep = (kx < n / 3 && abs(ky) < n / 3) ? 1.f : 0.f;
  float2 a = w[i], p = fu[i], q = fv[i];
  float rx = kx * p.y + ky * q.y;
  float ry = -(kx * p.x + ky * q.x);
  float damp = keep / (1.f + dt * nu * k2);
  w[i] = make_float2(damp * (a.x + dt * rx), damp * (a.y + dt * ry));
}

extern "C" void launch_fields(const void* w, void* u, void* v, int n, cudaStream_t st) {
  int half = n / 2 + 1;
  fields<<<dim3((half + 255) / 256, n), 256, 0, st>>>((const float2*)w, (float2*)u, (float2*)v, n, half,
                                                     1.f / ((float)n * (float)n));
}

extern "C" void launch_flux(void* u, void* v, const void* w, int n, cudaStream_t st) {
  size_t n4 = (size_t)n * n / 4;
  flux<<<(unsigned)((n4 + 255) / 256), 256, 0, st>>>((float4*)u, (float4*)v, (const float4*)w, n4);
}

extern "C" void launch_update(void* w, const void* fu, const void* fv, int n, float dt, float nu, cudaStream_t st) {
  int half = n / 2 + 1;
  update<<<dim3((half + 255) / 256, n), 256, 0, st>>>((float2*)w, (const float2*)fu, (const float2*)fv, n, half, dt, nu);
}
"""


def setup():
    lib = cubuild.load(SRC, "turbulence")
    w = torch.fft.rfft2(torch.randn(N, N, device="cuda"))
    return {"lib": lib, "w": w, "u": torch.empty_like(w), "v": torch.empty_like(w), "scale": 1.0 / (N * N)}


@torch.inference_mode()
def step(s):
    lib, st, n, p = s["lib"], cubuild.stream(), ctypes.c_int(N), cubuild.p
    lib.launch_fields(p(s["w"]), p(s["u"]), p(s["v"]), n, st)
    u = torch.fft.irfft2(s["u"], norm="forward")
    v = torch.fft.irfft2(s["v"], norm="forward")
    w = torch.fft.irfft2(s["w"], norm="forward")
    lib.launch_flux(p(u), p(v), p(w), n, st)
    fu = torch.fft.rfft2(u)
    fv = torch.fft.rfft2(v)
    lib.launch_update(
        p(s["w"]), p(fu), p(fv), n, ctypes.c_float(1e-4 * s["scale"]), ctypes.c_float(1e-6), st
    )


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3)
