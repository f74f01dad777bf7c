// What a rank does by itself between its products: RoPE with the key-value cache, and SwiGLU.
#include "peer.cuh"

// qkv: [rows][heads + 2 * kv_heads][2 * pairs], queries rotated in place; rope: [pairs] cos and sin;
// keys, values: [rows][kv_heads][context][2 * pairs], written at ``position``. A block a row's head.
extern "C" __global__ void rope_store(u32* qkv, const float2* rope, u32* keys, u32* values,
                                      int heads, int kv_heads, int context, int position) {
  const int pairs = blockDim.x, head = blockIdx.x, row = blockIdx.y;
  u32* const at = qkv + ((size_t)row * (heads + 2 * kv_heads) + head) * pairs + threadIdx.x;
  u32 pair = *at;
  if (head < heads + kv_heads) {
    const float2 turn = rope[threadIdx.x];
    const float real = low_of(pair), imaginary = high_of(pair);
    pair = pair_of(real * turn.x - imaginary * turn.y, imaginary * turn.x + real * turn.y);
  }
  if (head < heads) {
    *at = pair;
    return;
  }
  const int kv = (head - heads) % kv_heads;
  u32* const cache = head < heads + kv_heads ? keys : values;
  cache[(((size_t)row * kv_heads + kv) * context + position) * pairs + threadIdx.x] = pair;
}

// gate_up: [rows][2][pairs] pairs of bf16; out: [rows][pairs].
extern "C" __global__ void swiglu(const u32* gate_up, u32* out, int rows, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * pairs) return;
  const size_t at = (size_t)(i / pairs) * 2 * pairs + i % pairs;
  const u32 gate = gate_up[at], up = gate_up[at + pairs];
  const float low = low_of(gate), high = high_of(gate);
  const u32 active = pair_of(low / (1 + expf(-low)), high / (1 + expf(-high)));
  out[i] = pair_of(low_of(active) * low_of(up), high_of(active) * high_of(up));
}
