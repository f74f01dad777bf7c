"""8-bit operands: scales by brute force, launches, and a contest that refuses errors."""

import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.problem.model import Problem
from tests.support import build_cache, torch_cpu
from tests.support.cuda_driver import Driver

M, N, K = 4096, 2112, 7168

OPERANDS = """
import sys
sys.path[:0] = ["4-custom-hgemm", ".."]
import torch
from scaled_operands import drawn, exact

torch.manual_seed(0)
product = drawn((5, 200, 384), "cpu")
rows, blocks = product.rows, product.blocks
for k in range(384):
    block_of = lambda i: (i // 128, k // 128)
    for x, x8, by_row, of_row, by_block, of_block in (
        (product.a, rows.a, rows.scale_a, lambda i: i, blocks.scale_a, lambda i: (k // 128, i)),
        (product.b, rows.b, rows.scale_b, lambda i: i, blocks.scale_b, block_of),
    ):
        for i in (0, 3, x.shape[0] - 1):
            # a number is its 8 bits times its scale, within half of e4m3's last of 3 bits
            assert abs(x8[i, k].float() * by_row[of_row(i)] - x[i, k]) <= abs(x[i, k]) / 16 + 1e-5
            given = blocks.a if x is product.a else blocks.b
            found = given[i, k].float() * by_block[of_block(i)]
            assert abs(found - x[i, k]) <= abs(x[i, k]) / 16 + 1e-5
assert blocks.scale_a.shape == (3, 5) and blocks.scale_b.shape == (2, 3)
for scaled in (rows, blocks):
    # the largest of what a scale is for is the largest of e4m3
    assert scaled.a.float().abs().max() == scaled.b.float().abs().max() == 448
    whole = product.a.double() @ product.b.double().t()
    assert 0.01 < (exact(scaled) - whole).norm() / whole.norm() < 0.05
"""

CONTEST = """
import contextlib
import sys
sys.path[:0] = ["4-custom-hgemm", ".."]
import scaled_contest as contest
import torch
from harness.probe import paired
from scaled_operands import drawn, exact

class Cell:
    def __init__(self, params):
        self.params, self.facts, self.samples = params, {}, {}

    def fact(self, name, value, unit=""):
        self.facts[name] = value

    def sample(self, region, metric, unit, values):
        self.samples[region, metric] = values

    exclusively = contextlib.nullcontext

torch.manual_seed(0)
off = float(sys.argv[1])

class Kernel:
    def __init__(self, step, cubin):
        self.blocks = step.macros["BLOCKS"]

    def __call__(self, product):
        whole = exact(product.blocks if self.blocks else product.rows)
        product.c.copy_(whole * (1 + off * torch.randn(whole.shape)))
        return product.c

def interleaved(runs, sets, turns, *_):
    us = {"torch-rows-exact": 30.0, "torch-bf16": 40.0}
    us |= {"f0": 25.0, "f1": 20.0, "f2": 33.0, "f3": 22.0}
    return {
        name: paired.Turns(name, us=[us.get(name, 50.0)] * turns, mhz=[1900.0] * turns)
        for name in runs
    }

contest.ScaledKernel, contest.interleaved = Kernel, interleaved
contest.prepare = lambda: None
contest.build_all = lambda *_: None
contest.build = lambda _: type("Built", (), {"cubin": None})
contest.Monitor = contest.Clocks = lambda: None
contest.drawn = lambda shape: drawn(shape, "cpu")
contest.sets_beyond_cache = lambda _: 2
cell = Cell({"shapes": [[64, 128, 256], [32, 256, 128]], "turns": 3, "batch_ms": 12})
contest.scaled(cell)
told = " ".join(name for name in cell.facts if name.startswith("left_out"))
assert "64x128x256.torch-blocks" in told, told  # a CPU has no product with scales by block
def held(region, metric, expected):
    assert all(abs(value / expected - 1) < 1e-9 for value in cell.samples[region, metric]), metric
held("geomean", "f1_of_torch", 150)  # over the better one: 30 of 20 µs
held("geomean", "f1_over_bf16", 2)
held("geomean", "blocks_over_rows", 20 / 22)
held("geomean", "f3_over_f2", 1.5)
held("64x128x256", "f1_tflops", 2 * 64 * 128 * 256 / 20 / 1e6)
assert ("geomean", "f3_of_torch") not in cell.samples
assert 0.9 < cell.facts["scaled_error_ratio"] < 1.1
"""


@pytest.fixture
def gpu(module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Driver:
    played = Driver()
    monkeypatch.setattr(module("launch"), "driver", lambda: played)
    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setitem(sys.modules, "torch", torch)
    return played


def at(address: int, *shape: int) -> Any:
    return SimpleNamespace(data_ptr=lambda: address << 32, shape=shape)


def product_of(module: Callable[[str], ModuleType], k: int) -> Any:
    operands = module("scaled_operands")
    rows = operands.Scaled(at(1), at(2), at(3), at(4))
    blocks = operands.Scaled(at(5), at(6), at(7), at(8))
    return operands.Product(at(9, M, k), at(10, N, k), rows, blocks, at(11))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_each_step_builds(module: Callable[[str], ModuleType]) -> None:
    scaled, building = module("scaled"), module("build")
    cache = build_cache.of_compiler("nvcc")
    for step in (*scaled.STEPS.values(), *scaled.WAITING.values()):
        built = building.build(step, "bf16", cache)  # an error, if it spills or wgmma is serialised
        assert built.registers * step.threads <= 65536


def test_a_launch_has_the_operands_and_scales_of_its_rule(
    module: Callable[[str], ModuleType], gpu: Driver, tmp_path: Path
) -> None:
    (cubin := tmp_path / "cubin").write_bytes(b"cubin")
    scaled = module("scaled")
    product = product_of(module, K)
    for name, step in (scaled.STEPS | scaled.WAITING).items():
        gpu.calls.clear()
        kernel = scaled.ScaledKernel(step, cubin)
        assert kernel(product) is product.c
        a, b, scale_a, scale_b = (5, 6, 7, 8) if name[:2] in ("f2", "f3") else (1, 2, 3, 4)
        maps = gpu.asked("cuTensorMapEncodeTiled")
        assert [asked[3].value >> 32 for asked in maps] == [a, b, 11]
        # widths and heights; a pair of 8-bit elements is one of 16 bits
        sizes = [list(asked[4]) for asked in maps]
        assert sizes == [[K // 2, M], [K // 2, N], [N, M]]
        assert [list(asked[5]) for asked in maps] == [[K], [K], [2 * N]]  # bytes of a row
        boxes = [list(asked[6]) for asked in maps]
        tile_m, tile_n, _ = step.tile
        below, beside = step.cluster
        assert boxes == [[64, tile_m // beside], [64, tile_n // below], [64, 64]]
        launched = gpu.launches[-1]
        pointers = [int.from_bytes(each, "little") >> 32 for each in launched.arguments[3:5]]
        assert pointers == [scale_a, scale_b]
        assert [struct.unpack("<i", each[:4])[0] for each in launched.arguments[5:]] == [M, N, K]
        assert bool(launched.attributes) == (name in scaled.STEPS)
        kernel(product)
        assert len(gpu.asked("cuTensorMapEncodeTiled")) == 3  # bound once


@pytest.mark.usefixtures("gpu")
def test_scales_by_block_need_whole_blocks_of_k(
    module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (cubin := tmp_path / "cubin").write_bytes(b"cubin")
    scaled, launch = module("scaled"), module("launch")
    for name, step in scaled.STEPS.items():
        kernel = scaled.ScaledKernel(step, cubin)
        if name in ("f2", "f3"):
            with pytest.raises(launch.LaunchError, match="does not take 4096 x 2112 x 7184"):
                kernel(product_of(module, K + 16))
        else:
            kernel(product_of(module, K + 16))
        with pytest.raises(launch.LaunchError, match="does not take"):
            kernel.bind(product_of(module, K + 8))


def test_every_shape_that_is_checked_or_timed_is_one_that_each_step_takes(
    module: Callable[[str], ModuleType], problem: Problem
) -> None:
    sanitized, contest = module("sanitize_scaled"), module("scaled_contest")
    ragged = [(sanitized.M, sanitized.N, sanitized.K), contest.RAGGED]
    for shape in (*ragged, *problem.cases["scaled"].params["shapes"]):
        for step in module("scaled").STEPS.values():
            assert step.takes(*shape), (step.name, shape)
            assert shape[2] % module("scaled_operands").BLOCK == 0


@torch_cpu.needs_torch
def test_the_scales_are_those_of_brute_force() -> None:
    torch_cpu.run(OPERANDS)


@torch_cpu.needs_torch
def test_a_contest_states_ratios_to_the_better_of_torch_s_products() -> None:
    torch_cpu.run(CONTEST, "1e-4")


@torch_cpu.needs_torch
@pytest.mark.parametrize(("off", "told"), [("0.005", "a step errs"), ("0.02", "wrong product")])
def test_a_step_that_errs_ends_the_process(off: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        torch_cpu.run(CONTEST, off)


@torch_cpu.needs_torch
def test_a_wrong_product_of_torch_s_is_left_out() -> None:
    wrong = "contest.TORCH['torch-rows-exact'] = lambda product: product.c.copy_(product.a[:, :1])"
    expected = CONTEST.replace('held("geomean", "f1_of_torch", 150)', "")
    expected = expected.replace("assert ", 'assert told.count("torch-rows-exact") == 3 and ', 1)
    torch_cpu.run(expected.replace("cell = Cell(", f"{wrong}\ncell = Cell("), "1e-4")
