"""Problem 5's epilogues without a GPU: the kernel's arithmetic, its builds, and its gradients."""

import ctypes
import itertools
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.hgemm import compiled
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

FOLDER = ROOT / "problems/5-gpt2-step"

SHIM = """
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>
#define __device__
#define __forceinline__ inline
struct float2 { float x, y; };
inline float2 make_float2(float x, float y) { return float2{x, y}; }
struct Index { int x; };
static thread_local Index threadIdx;
static float given_by[32];
struct Together {
  std::mutex mutex;
  std::condition_variable all;
  int waiting = 0, turn = 0;
  void arrive_and_wait() {
    std::unique_lock<std::mutex> held(mutex);
    const int mine = turn;
    if (++waiting == 32) {
      waiting = 0, ++turn;
      all.notify_all();
    } else all.wait(held, [&] { return turn != mine; });
  }
};
static Together together;
inline float __shfl_xor_sync(unsigned, float value, int apart) {
  given_by[threadIdx.x] = value;
  together.arrive_and_wait();
  const float other = given_by[threadIdx.x ^ apart];
  together.arrive_and_wait();
  return other;
}
"""
"""A warp on the CPU: 32 threads, of which each exchange is a turn."""

EXPORTS = """
extern "C" {
float c_gelu(float u) { return gelu(u); }
float c_derivative(float u) {
  gelu(u);
  return u;
}
void c_sums(const float* columns, float* to) {
  std::vector<std::thread> warp;
  for (int lane = 0; lane < 32; ++lane)
    warp.emplace_back([=] {
      threadIdx.x = lane;
      float own[16];
      for (int i = 0; i < 16; ++i) own[i] = columns[lane * 16 + i];
      store_column_sums(own, to);
    });
  for (std::thread& lane : warp) lane.join();
}
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    text = (FOLDER / "fused_product.cu").read_text(encoding="utf-8")
    parts = [
        re.search(pattern, text, re.DOTALL)
        for pattern in (
            r"constexpr float TWICE_ROOT.*?(?=__device__ __forceinline__ float low)",
            r"template <int APART.*?(?=// parts: )",
        )
    ]
    assert all(parts)
    source = "".join(part[0] for part in parts if part)
    for ptx, cpu in (("ex2.approx.ftz.f32", "std::exp2"), ("rcp.approx.ftz.f32", "1 /")):
        wanted = rf'asm\("{re.escape(ptx)} %0, %1;" : "=f"\((\w+)\) : "f"\((.*?)\)\);\n'
        source, count = re.subn(wanted, rf"\1 = {cpu} (\2);\n", source)
        assert count == 1
    folder = tmp_path_factory.mktemp("epilogue")
    loaded = compiled(folder, SHIM + source + EXPORTS, folder)
    for name in ("c_gelu", "c_derivative"):
        function = getattr(loaded, name)
        function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return loaded


def gelu(u: float) -> float:
    return u / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


@pytest.mark.parametrize("u", [-60.0, -9.0, -3.0, -0.7, -1e-4, 0.0, 0.3, 1.0, 4.0, 60.0])
def test_gelu_and_its_derivative_are_those_by_tanh(kernel: ctypes.CDLL, u: float) -> None:
    assert kernel.c_gelu(u) == pytest.approx(gelu(u), rel=2e-5, abs=1e-6)
    slope = (gelu(u + 1e-4) - gelu(u - 1e-4)) / 2e-4
    assert kernel.c_derivative(u) == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_a_warp_leaves_the_sums_of_its_rows_by_column(kernel: ctypes.CDLL) -> None:
    # Lane l holds, of rows l / 4 and l / 4 + 8, columns 8 q + 2 (l % 4) and the next one.
    held = [[float((lane * 16 + i) % 37) for i in range(16)] for lane in range(32)]
    sums = (ctypes.c_float * 64)(*[math.nan] * 64)
    kernel.c_sums((ctypes.c_float * 512)(*itertools.chain(*held)), sums)
    wanted = [0.0] * 64
    for lane, columns in enumerate(held):
        for i, value in enumerate(columns):
            wanted[i // 2 * 8 + lane % 4 * 2 + i % 2] += value
    assert [*sums] == wanted


@needs_torch
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_every_epilogue_builds(tmp_path: Path) -> None:
    code = """
import fused_product as fused
for epilogue, layout in ((fused.BIAS, "nt"), (fused.BIAS_GELU, "nt"),
                         (fused.SCALE, "nn"), (fused.BIAS_ADD, "nt")):
    print(fused.CudaKernel(fused.step(epilogue, layout)).cubin().stat().st_size)
"""
    sizes = run(code, HGEMM_CACHE=str(tmp_path)).split()
    assert len(sizes) == 4
    assert all(int(size) > 10_000 for size in sizes)


GRADIENTS = """
import sys, types
import torch
import torch.nn.functional as F

class Fused(types.ModuleType):
    @staticmethod
    def product_add(x, weight, bias, addend):
        return x @ weight.t() + bias + addend
    @staticmethod
    def product_gelu(x, weight, bias):
        with torch.enable_grad():
            u = (x @ weight.t() + bias).detach().requires_grad_()
            y = F.gelu(u, approximate="tanh")
            derivative, = torch.autograd.grad(y.sum(), u)
        return derivative, y.detach()
    @staticmethod
    def product_scale(x, weight, factors):
        y = (x @ weight) * factors
        return y, y.view(4, -1, y.shape[1]).sum(1)

class Sums(types.ModuleType):
    @staticmethod
    def norm_backward(of_sum, of_normed, x, mean, inverse, weight):
        kept = [x, mean[:, None], inverse[:, None], weight, torch.zeros_like(weight)]
        of_x, of_weight, of_shift = torch.ops.aten.native_layer_norm_backward(
            of_normed, x, weight.shape, *kept[1:], [True, True, True])
        of_x = of_x + of_sum
        return of_x, torch.stack([of_weight, of_shift, of_x.sum(0)])[None]

sys.modules["fused_product"], sys.modules["sum_kernels"] = Fused("fused"), Sums("sums")
import epilogues

torch.manual_seed(0)
rows, width, eps = 16, 8, 1e-5
def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

def gradients(function, inputs):
    total, normed = function(*inputs)
    return torch.autograd.grad((total * total.cos().detach()).sum() + (normed ** 3).sum(), inputs)

def out(x, y, weight, bias, norm, shift):
    total = x + y @ weight.t() + bias
    return total, F.layer_norm(total, (width,), norm, shift, eps)

def feed_forward(x, y, up, up_bias, down, down_bias, norm, shift):
    total = x + F.gelu(y @ up.t() + up_bias, approximate="tanh") @ down.t() + down_bias
    return total, F.layer_norm(total, (width,), norm, shift, eps)

vectors = [numbers(width) for _ in range(3)]
for plain, fused, inputs in (
    (out, epilogues._OutNorm, [numbers(rows, width), numbers(rows, width), numbers(width, width),
                               *vectors]),
    (feed_forward, epilogues._FeedForwardNorm,
     [numbers(rows, width), numbers(rows, width), numbers(4 * width, width), numbers(4 * width),
      numbers(width, 4 * width), *vectors]),
):
    found = gradients(lambda *given: fused.apply(*given, eps), inputs)
    for one, other in zip(found, gradients(plain, inputs), strict=True):
        torch.testing.assert_close(one, other)
    print(plain.__name__)
"""


@needs_torch
def test_the_functions_have_the_gradients_of_the_plain_formulas() -> None:
    assert run(GRADIENTS).split() == ["out", "feed_forward"]


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [str(PYTHON), "-c", code],
        cwd=FOLDER,
        env=os.environ | environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
