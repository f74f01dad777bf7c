"""CUTLASS's matrix product in the configurations that its profiler would choose from.

``python cutlass_matmul.py nn`` compiles them, each for about a minute; a contest compiles what is
missing. Compiling needs no GPU, but nvcc and the package nvidia-cutlass, of which only the headers
are used. The kernels read rows by TMA, so a product with other rows has no configuration.
"""

import argparse
import ctypes
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cubins import CACHE, compiled, compiling
from families import LAYOUTS
from ladder import BuildError
from plans import Problem

SOURCE = Path(__file__).with_suffix(".cu")
ELEMENTS = {"bf16": "bfloat16_t", "fp16": "half_t"}
ORDERS = {"n": "RowMajor", "t": "ColumnMajor"}
SWIZZLES = (1, 8)
"""Tiles that follow each other along the shorter side, at most, before the longer one goes on."""


@dataclass(frozen=True)
class Config:
    """Tile of C and K of a step, blocks of a cluster, and how consumers and tiles are scheduled."""

    m: int
    n: int
    k: int
    cluster: tuple[int, int]
    ping_pong: bool = False
    stream_k: bool = False

    @property
    def name(self) -> str:
        """A unique name."""
        across, along = self.cluster
        kind = "pingpong" if self.ping_pong else "streamk" if self.stream_k else "cooperative"
        return f"cutlass_{self.m}x{self.n}x{self.k}_{across}x{along}_{kind}"


CONFIGS = (
    Config(128, 256, 64, (2, 1)),
    Config(256, 128, 64, (2, 1)),
    Config(256, 128, 64, (1, 2)),
    Config(128, 128, 64, (2, 1)),
    Config(128, 128, 64, (2, 1), ping_pong=True),
    Config(64, 256, 64, (2, 1), ping_pong=True),
    Config(64, 256, 64, (1, 1), ping_pong=True),
    Config(64, 128, 64, (2, 1), ping_pong=True),
    Config(64, 128, 64, (1, 1), ping_pong=True),
    Config(64, 64, 64, (1, 1), ping_pong=True),
    Config(128, 256, 64, (2, 1), stream_k=True),
    Config(128, 128, 64, (2, 1), stream_k=True),
)
"""Large tiles for large C, small ones for few rows; two consumers of 64 rows each alternate."""


def build(config: Config, layout: str, element: str, folder: Path = CACHE) -> Path:
    """Return the library of a configuration in a layout, compiled unless it lies in ``folder``.

    Raises ``BuildError`` if nvcc fails, or if CUTLASS's headers are missing and it has to compile.
    """
    macros = _macros(config, layout, element)
    library = folder / f"{config.name}-{layout}-{element}-{_digest(macros)}.so"
    if library.exists():
        return library
    with compiling(library) as unfinished:
        argv = ["nvcc", "-std=c++17", "-O3", "-arch=sm_90a", "--expt-relaxed-constexpr"]
        argv += ["-Xcompiler", "-fPIC", "-shared", "-I", str(headers()), *macros]
        compiled([*argv, "-o", str(unfinished), str(SOURCE)], f"{config.name} ({layout})")
    return library


def build_all(layouts: Sequence[str], element: str, jobs: int | None = None) -> list[Path]:
    """Compile the missing configurations, several at once; raise as ``build`` does."""
    pairs = [(config, layout) for layout in layouts for config in CONFIGS]
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(lambda pair: build(*pair, element), pairs))


def headers() -> Path:
    """Return the folder of CUTLASS's headers; ``BuildError`` without the package."""
    package = importlib.util.find_spec("cutlass_library")
    if package is None or package.origin is None:
        pinned = SOURCE.parent.joinpath("env/cutlass.in").read_text(encoding="utf-8").strip()
        raise BuildError(f"CUTLASS's headers are missing (pip install --no-deps {pinned})")
    return Path(package.origin).parent / "source" / "include"


def runs(problem: Problem, element: str, folder: Path = CACHE) -> dict[str, Callable[..., None]]:
    """Return each configuration and swizzle as a function of a, b and c, by name.

    Empty where the rows of A, B or C do not begin at multiples of 16 bytes.
    """
    if not all(problem.aligned):
        return {}
    return {
        f"{config.name}_s{swizzle}": _run(
            _loaded(build(config, problem.layout, element, folder)), problem, swizzle
        )
        for config in CONFIGS
        for swizzle in SWIZZLES
    }


def _run(library: ctypes.CDLL, problem: Problem, swizzle: int) -> Callable[..., None]:
    """Return a product that binds operands when it first sees them, before a graph's capture."""
    import torch

    sizes = (*problem.shape, swizzle)
    bound: dict[tuple[int, ...], tuple[ctypes.c_void_p, Any]] = {}

    def launch(a: Any, b: Any, c: Any) -> None:
        places = tuple(each.data_ptr() for each in (a, b, c))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if places not in bound:
            space = max(1, library.workspace_bytes(*sizes))
            workspace = torch.empty(space, dtype=torch.uint8, device="cuda")
            pointers = map(ctypes.c_void_p, places)
            memory = ctypes.c_void_p(workspace.data_ptr())
            gemm = library.bind_product(*pointers, *sizes, memory, stream)
            if not gemm:
                raise RuntimeError("CUTLASS refuses this product")
            bound[places] = ctypes.c_void_p(gemm), workspace
        if status := library.run_product(bound[places][0], stream):
            raise RuntimeError(f"CUTLASS: status {status}")

    return launch


@cache
def _loaded(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.workspace_bytes.restype = ctypes.c_size_t
    library.bind_product.restype = ctypes.c_void_p
    return library


def _macros(config: Config, layout: str, element: str) -> list[str]:
    values = {
        "TILE_M": config.m,
        "TILE_N": config.n,
        "TILE_K": config.k,
        "CLUSTER_M": config.cluster[0],
        "CLUSTER_N": config.cluster[1],
        "PINGPONG": int(config.ping_pong),
        "STREAM_K": int(config.stream_k),
        "ELEMENT": ELEMENTS[element],
        "LAYOUT_A": ORDERS[layout[0]],
        "LAYOUT_B": ORDERS[layout[1]],
        "NDEBUG": 1,
    }
    if not config.stream_k:  # whose is_last_tile CUTLASS 4.2 does not compile with it
        values["CUTLASS_ENABLE_GDC_FOR_SM90"] = 1
    return [f"-D{name}={value}" for name, value in values.items()]


def _digest(macros: list[str]) -> str:
    pinned = SOURCE.parent / "env/cutlass.lock"
    parts = (SOURCE.read_bytes(), pinned.read_bytes(), repr(macros).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def main() -> int:
    """Compile all configurations of some layouts and print their names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layouts", nargs="*", choices=LAYOUTS, default=["nn"])
    parser.add_argument("--element", choices=ELEMENTS, default="bf16")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for path in build_all(options.layouts, options.element, options.jobs):
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
