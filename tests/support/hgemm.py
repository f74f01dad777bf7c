"""Problems 4 and 8: folders, the text of kernels, and a cell that keeps what a workload states."""

import contextlib
import ctypes
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import build_cache
from tests.support.paths import ROOT

FOLDER = ROOT / "problems/4-custom-hgemm"
ANY_SHAPE = ROOT / "problems/8-gemm-any-shape"


def source(name: str) -> str:
    """Return a kernel's source without comments, in it the files of kernels/ that it includes."""
    included: set[str] = set()

    def read(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        places = [folder / "kernels" / name for folder in (FOLDER, ANY_SHAPE)]
        text = next(place for place in places if place.exists()).read_text(encoding="utf-8")
        text = re.sub(r"//.*", "", text)
        return re.sub(r'^#include "(.+)"$', lambda line: read(line[1]), text, flags=re.MULTILINE)

    return read(name)


def compiled(folder: Path, source: str, headers: Path, **macros: int) -> ctypes.CDLL:
    """Return a library of C functions; ``CalledProcessError`` if the compiler refuses them."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    exports = folder / "exports.cpp"
    exports.write_text(source)
    argv = ["-std=c++17", "-O2", "-shared", "-fPIC"]
    argv += [f"-D{name}={value}" for name, value in macros.items()]
    name = build_cache.key(argv, [exports, *sorted(headers.glob("*.cuh"))])
    library = build_cache.of_compiler(compiler) / f"{name}.so"
    if not library.exists():
        unfinished = folder / "exports.so"
        argv = [compiler, *argv, "-I", str(headers), "-o", str(unfinished), str(exports)]
        subprocess.run(argv, check=True, timeout=120, capture_output=True, text=True)
        partial = library.with_suffix(f".{os.getpid()}")  # the last step renames within a folder
        shutil.move(unfinished, partial)
        partial.replace(library)
    return ctypes.CDLL(str(library))


def compiled_header(folder: Path, name: str, exports: str) -> ctypes.CDLL:
    """Return a library of C functions over a header of problem 8's kernels and layout.cuh."""
    for header in (ANY_SHAPE / "kernels" / name, FOLDER / "kernels/layout.cuh"):
        shutil.copy(header, folder)
    return compiled(folder, exports, folder)


ELSEWHERE = {
    "scaled": ("scaled_contest", "scaled"),
    "sanitize-scaled": ("sanitize_scaled", "cell"),
    "portable": ("portable", "portable"),
}
"""Module and function of problem 4's workloads that contest.py has not."""

TURNS = 21
COUNTED, TOLD = 1900.0, 1755.0
"""MHz: as the multiprocessors counted, as NVML told."""


class Cell:
    """What a workload sees of its cell, kept."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.facts: dict[str, float | str] = {}
        self.samples: dict[tuple[str, str], list[float]] = {}
        self.measured: list[str] = []
        self.alone = 0

    def fact(self, name: str, value: float | str, unit: str = "") -> None:
        assert name not in self.facts
        assert isinstance(unit, str)
        self.facts[name] = value

    def sample(self, name: str, metric: str, unit: str, values: list[float]) -> None:
        assert unit
        assert all(map(math.isfinite, values))
        assert (name, metric) not in self.samples
        self.samples[name, metric] = values

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        self.alone += 1
        yield
        self.alone -= 1

    def measure(self, name: str, step: Callable[[], object]) -> None:
        step()
        self.measured.append(name)


def layer_rows(real_layers: ModuleType) -> list[dict[str, Any]]:
    """Return rows of ten rounds: the operator leads by 1.05; with PDL it takes 1.1 of its time.

    At odd sizes cuBLAS on padded rows takes 0.8 of its time, 0.95 with a copy.
    """
    models = real_layers.layers()
    rows = []
    for shape in (*models, *real_layers.HEADS, *real_layers.PATCHES):
        us = 2e-6 * shape[1] * shape[2] / 4.2
        slower = {"torch": 1.2, "lt0": 1.05, "lt1": 1.3}
        slower |= {real_layers.OPERATOR: 1.0, real_layers.EARLY: 1.1}
        if shape not in models:
            slower |= {real_layers.VIEW: 0.8, real_layers.COPIED: 0.95}
        finals = {
            name: [us * factor * (1 + turn / 1000) for turn in range(10)]
            for name, factor in slower.items()
        }
        rows.append({"shape": shape, "plan": "sliced_m8_tt/1/1", "finals": finals})
    return rows


def unaligned_rows(padded_rivals: ModuleType) -> list[dict[str, Any]]:
    """Return rows of ten rounds: torch.mm takes twice the operator's time, padded rows 1.5."""
    times = {"operator": 1.0, "early": 1.0, "view": 1.5, "copied": 1.7, "torch": 2.0, "lt0": 1.9}
    finals = {name: [10.0 * factor] * 10 for name, factor in times.items()}
    return [
        {"shape": shape, "plan": "sliced_m8_tt/1/1", "finals": finals}
        for shape in padded_rivals.shapes()
    ]
