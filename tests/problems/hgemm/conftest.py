"""The problem's modules, and its pure arithmetic compiled for the CPU."""

import ctypes
import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[3] / "problems" / "4-custom-hgemm"
MODULES = (
    "step",
    "steps",
    "build",
    "launch",
    "checking",
    "timing",
    "check_and_time",
    "cublaslt",
    "dispatch",
    "nvml",
    "ratios",
    "stated",
    "contenders",
    "contest",
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
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("layout")
    source, library = folder / "exports.cpp", folder / "layout.so"
    source.write_text(EXPORTS)
    argv = [compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "-I", str(FOLDER / "kernels")]
    subprocess.run([*argv, "-o", str(library), str(source)], check=True, timeout=120)
    loaded = ctypes.CDLL(str(library))
    loaded.c_descriptor_a.restype = loaded.c_descriptor_b.restype = ctypes.c_uint64
    return loaded
