"""The problem's modules, and its pure arithmetic compiled for the CPU."""

import ctypes
import importlib
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.probe import paired
from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.hgemm import COUNTED, FOLDER, TOLD, compiled

MODULES = (
    "step",
    "steps",
    "build",
    "launch",
    "checking",
    "check_and_time",
    "cublaslt",
    "dispatch",
    "clocks",
    "sanitize",
    "rates",
    "facts",
    "watchdog",
    "contenders",
    "alternating",
    "contest",
    "scaled",
    "scaled_contest",
    "scaled_operands",
    "sanitize_scaled",
    "portable",
)

EXPORTS = """
#include "layout.cuh"
extern "C" {
int c_swizzle_64(int row, int chunk) { return swizzle_64(row, chunk); }
int c_swizzle_128(int row, int chunk) { return swizzle_128(row, chunk); }
int c_swizzle_256(int row, int chunk) { return swizzle_256(row, chunk); }
int c_store_offset(int thread, int j) { return store_offset(thread, j); }
uint64_t c_descriptor_a(uint32_t tile, int k) { return descriptor_a(tile, k); }
uint64_t c_descriptor_b(uint32_t tile, int k) { return descriptor_b(tile, k); }
int c_grouped_tile(int index, int rows, int columns, int group) {
  Tile tile = grouped_tile(index, rows, columns, group);
  return tile.row << 16 | tile.column;
}
}
"""

CUDA = """
#pragma once
#include "layout.cuh"
#include <cstddef>
#define __device__
#define __forceinline__ inline
using element = uint16_t;
static struct { int x; } threadIdx;
struct Copy { uint64_t from; uint32_t to, inside; };
static Copy* copied;
inline void copy_async(uint32_t to, const void* from, bool inside) {
  *copied++ = Copy{reinterpret_cast<uint64_t>(from), to, inside};
}
"""
"""As much of kernels/common.cuh as copies.cuh needs: a copy is written down instead of made."""

COPIES = """
#include "copies.cuh"
using Of = Copies<BLOCK_M, BLOCK_N, BLOCK_K, BLOCK_THREADS>;
extern "C" int c_copies(const element* a, const element* b, int row0, int column0,
                        int m, int n, int k, Copy* to) {
  copied = to;
  for (threadIdx.x = 0; threadIdx.x < BLOCK_THREADS; ++threadIdx.x) {
    Of copies(a, b, row0, column0, m, n, k);
    for (int step = 0; step < ceil_div(k, BLOCK_K); ++step)
      copies.start(step * (BLOCK_M + BLOCK_N) * BLOCK_K * 2, n, k);
  }
  return copied - to;
}
"""
"""What all threads of a block copy for a whole tile; each step to a stage of its own."""


@pytest.fixture(scope="package")
def module() -> Iterator[Callable[[str], ModuleType]]:
    """The problem's scripts are found as they find each other: in their own folder."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="package")
def layout(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """kernels/layout.cuh itself, compiled by the host's compiler."""
    loaded = compiled(tmp_path_factory.mktemp("layout"), EXPORTS, FOLDER / "kernels")
    loaded.c_descriptor_a.restype = loaded.c_descriptor_b.restype = ctypes.c_uint64
    return loaded


@pytest.fixture(scope="package")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ctypes.CDLL]:
    """kernels/copies.cuh itself, compiled by the host's compiler with a tile's sizes as macros."""

    def build(**macros: int) -> ctypes.CDLL:
        folder = tmp_path_factory.mktemp("copies")
        for name in ("copies.cuh", "layout.cuh"):
            shutil.copy(FOLDER / "kernels" / name, folder)
        (folder / "common.cuh").write_text(CUDA)
        return compiled(folder, COPIES, folder, **macros)

    return build


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(FOLDER.parent, "4")


@pytest.fixture
def contest(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    """The problem's module; whatever it would ask the GPU is answered at once."""
    loaded, checking, building = map(module, ("contest", "checking", "build"))
    sanitize = module("sanitize")

    def errors(_run: object, _element: str, shape: tuple[int, int, int]) -> Any:
        return checking.Errors(shape, 1e-3, 1e-3, 1e-3, 0.1, 0.1, "")

    def interleaved(
        runs: Any, _sets: Any, turns: int, _monitor: Any, _clock: Any, batch_ms: float
    ) -> dict[str, paired.Turns]:
        watt = 700.0 if batch_ms > 200 else math.nan
        return {
            name: paired.Turns(
                name,
                us=[200.0 + at] * turns,
                mhz=[COUNTED] * turns,
                nvml_mhz=[TOLD] * turns,
                watt=[watt] * turns,
            )
            for at, name in enumerate(runs)
        }

    def build(step: Any, element: str, _cache: Path) -> Any:
        return building.Built(step.name, element, tmp_path, 168, 0, 0, 0, 1, ())

    def contender(name: str, *_: Any) -> tuple[Any, str]:
        return (lambda *_: None), f"what {name} is"

    def sanitized(steps: list[Any], *_: Any) -> list[Any]:
        return [
            sanitize.Finding(step.name, tool, 0, "")
            for step in steps
            for tool in sanitize.SUMMARIES
        ]

    monkeypatch.setattr(sanitize, "sanitized", sanitized)
    monkeypatch.setattr(sanitize.shutil, "which", lambda name: f"/usr/bin/{name}")
    played = {
        "prepare": lambda: None,
        "buffers": lambda *_: [("a", "b", "c")] * 2,
        "contender": contender,
        "errors": errors,
        "chained": lambda *_: 0,
        "build_kernels": lambda *_: None,
        "interleaved": interleaved,
        "build": build,
        "kernel_names": lambda *_: "nvjet",
        "flop_per_cycle": lambda: 132 * 4096.0,
        "Monitor": lambda: None,
        "Clocks": lambda: None,
    }
    for name, instead in played.items():
        monkeypatch.setattr(loaded, name, instead)
    scaled = module("scaled_contest")
    played = {name: played[name] for name in ("prepare", "interleaved", "Monitor", "Clocks")} | {
        "build_all": lambda *_: [],
        "build": lambda step: build(step, "bf16", tmp_path),
        "ScaledKernel": lambda *_: None,
        "drawn": lambda _: "operands",
        "buffers": lambda _: ["operands"],
        "checked": lambda _cell, ours, _: (ours | scaled.TORCH, 1.0),
    }
    for name, instead in played.items():
        monkeypatch.setattr(scaled, name, instead)
    play_portable(module("portable"), played, errors, monkeypatch)
    found = [sanitize.Finding(step, tool, 0, "") for step in "fg" for tool in sanitize.SUMMARIES]
    monkeypatch.setattr(module("sanitize_scaled"), "sanitized", lambda: found)
    return loaded


def play_portable(
    portable: ModuleType, played: dict[str, Any], errors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer at once what the portable steps would ask of compiler and GPU."""
    instead = {name: played[name] for name in ("interleaved", "Monitor")} | {
        "prepare": lambda: None,
        "buffers": lambda *_: [("a", "b", "c")],
        "ptx": lambda *_, **__: Path("step.ptx"),
        "Kernel": lambda *_: None,
        "cublaslt": lambda *_: (None, "the fastest"),
        "right": lambda _name, *about: errors(*about),
    }
    for name, played_so in instead.items():
        monkeypatch.setattr(portable, name, played_so)
