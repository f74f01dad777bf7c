"""Run the kernels for every shape under compute-sanitizer, on odd shapes and all layouts.

    python sanitize_shapes.py --limit-s 120

Each process is one tool on one shape: it computes the product by the plans that the model ranks
first among stream_k's with a spread, stream_k's without one, sliced's, and dots'. Whether products
are right is checked elsewhere; here the matrices are constant and torch is not loaded, in whose
process racecheck ends with an internal error.
"""

import argparse
import ctypes
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from cubins import CACHE
from device import peak_bandwidth
from families import LAYOUTS
from general import Library
from ladder import (
    ELEMENT_BYTES,
    ONE,
    SUMMARIES,
    Finding,
    Step,
    call_driver,
    ended,
    read_finding,
)
from model import ranked
from plans import Plan, Problem, describe, understood

HERE = Path(__file__).resolve()
LIMIT_S = 60.0
JOBS = min(12, os.cpu_count() or 1)
"""Processes side by side: most of their time goes into loading."""
SHAPES = (
    "1x8x64 1x513x200 3x17x65 7x129x200 8x1024x512 16x257x1030 33x100x999 64x64x64 65x127x300"
    " 100x300x1000 128x256x512 129x129x417 257x776x264 300x5x500 500x7x300 392x24x328 520x264x136"
    " 392x776x328 301x499x203 640x640x640"
)
GRAIN = 16
"""Memory is allocated in multiples of so many bytes: the last load of a row takes 16."""


class Matrix:
    """The part of a tensor that general.py reads; memory full of one number."""

    def __init__(self, rows: int, columns: int, value: int = ONE) -> None:
        self.shape = (rows, columns)
        self._address = ctypes.c_uint64()
        size = -(-rows * columns * ELEMENT_BYTES // GRAIN) * GRAIN
        call_driver("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(size))
        count = ctypes.c_size_t(size // ELEMENT_BYTES)
        call_driver("cuMemsetD16_v2", self._address, ctypes.c_ushort(value), count)

    def data_ptr(self) -> int:
        """Return the address on the device."""
        return self._address.value

    def stride(self, _dimension: int) -> int:
        """Return the elements from one row to the next."""
        return self.shape[1]


def zeros(count: int) -> Any:
    """Return ``count`` zeroed bytes on the device."""
    return Matrix(1, -(-count // ELEMENT_BYTES), 0)


def chosen(problem: Problem) -> list[Plan]:
    """Return the first plan of each kind in the model's order; problem 4 sanitizes the ladder's."""
    kinds: dict[tuple[str, bool, bool, bool], Plan] = {}
    for plan in ranked(problem, peak_bandwidth()):
        if not isinstance(plan.config, Step):
            kind = plan.step(problem).source, plan.swapped, plan.spread > 0, plan.added
            kinds.setdefault(kind, plan)
    return list(kinds.values())


def child(problem: Problem, element: str, cache: Path) -> None:
    """Compute one product by each chosen plan, in the device's primary context."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call_driver("cuInit", 0)
    call_driver("cuDeviceGet", ctypes.byref(device), 0)
    call_driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call_driver("cuCtxSetCurrent", context)
    library = Library(element, cache, allocate=zeros)
    a, b, c = (Matrix(*sizes) for sizes in problem.stored)
    for plan in chosen(problem):
        for launch in library.bind(plan, problem, a, b, c):
            launch(0)
        call_driver("cuCtxSynchronize")


def findings(element: str, layouts: list[str], cache: Path, limit_s: float) -> list[Finding]:
    """Return both tools' findings for every shape, each in one layout, as many as time allows."""
    problems = [
        understood(f"{shape}:{layouts[index % len(layouts)]}")
        for index, shape in enumerate(SHAPES.split())
    ]
    until = time.monotonic() + limit_s

    def finding(pair: tuple[Problem, str]) -> Finding:
        if time.monotonic() > until:
            return Finding(describe(pair[0]), pair[1], None, "not run: the time is over")
        return sanitized(*pair, element, cache)

    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(finding, product(problems, SUMMARIES)))


def sanitized(problem: Problem, tool: str, element: str, cache: Path) -> Finding:
    """Return a tool's finding for a problem."""
    argv = ["compute-sanitizer", f"--tool={tool}", sys.executable, str(HERE)]
    argv += ["--child", describe(problem), f"--element={element}"]
    output, status = ended([*argv, f"--cache={cache}"], LIMIT_S)
    if status is None:
        return Finding(describe(problem), tool, None, f"no end after {LIMIT_S:.0f} s")
    return read_finding(describe(problem), tool, output, status)


def main() -> int:
    """Print a line for each problem and tool; return 1 if any tool reported an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--element", default="bf16")
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--limit-s", type=float, default=120.0)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(understood(options.child), options.element, options.cache)
        return 0
    every = findings(options.element, options.layouts, options.cache, options.limit_s)
    for found in every:
        print(f"{found.step:24} {found.tool:10} {found.message or 'clean'}", flush=True)
    return int(any(found.message for found in every))


if __name__ == "__main__":
    sys.exit(main())
