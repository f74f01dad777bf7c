// Each of a pixel's four channels iterates a formula of its own.
constexpr int STEPS = 64;

__device__ float first(float v) {
#pragma unroll 8
  for (int i = 0; i < STEPS; ++i) v = 0.75f * v + 0.2f;
  return v;
}
__device__ float second(float v) {
#pragma unroll 8
  for (int i = 0; i < STEPS; ++i) v = 1.5f * v * (1 - v);
  return v;
}
__device__ float third(float v) {
#pragma unroll 8
  for (int i = 0; i < STEPS; ++i) v = fabsf(0.9f * v - 0.4f);
  return v;
}
__device__ float fourth(float v) {
#pragma unroll 8
  for (int i = 0; i < STEPS; ++i) v = v - 0.1f * v * v * v;
  return v;
}

#ifdef SICK
extern "C" __global__ void curves(const float* pixels, float* result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = pixels[i];
  switch (i % 4) {
    case 0: v = first(v); break;
    case 1: v = second(v); break;
    case 2: v = third(v); break;
    default: v = fourth(v);
  }
  result[i] = v;
}
#else
extern "C" __global__ void curves(const float4* pixels, float4* result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 pixel = pixels[i];
  result[i] = make_float4(first(pixel.x), second(pixel.y), third(pixel.z), fourth(pixel.w));
}
#endif
