"""Run the steps of 8-bit operands under compute-sanitizer, as sanitize.py runs the others."""

import argparse
import ctypes
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from build import CACHE, build, build_all
from launch import call
from sanitize import JOBS, LIMIT_S, SMS, SUMMARIES, Finding, Matrix, read
from scaled import STEPS, ScaledKernel
from scaled_operands import BLOCK, Product, Scaled
from watchdog import ended

HERE = Path(__file__).resolve()
M, N, K = 392, 784, 384
"""Tiles of every step that end outside of C; K is three blocks of scales."""


def cell(cell: Any) -> None:
    """State what both tools find in each step; a tool that does not finish fails the cell."""
    if not shutil.which("compute-sanitizer"):
        raise SystemExit("compute-sanitizer is not on PATH: it comes with the CUDA toolkit")
    with cell.exclusively():
        findings = sanitized()
    for finding in findings:
        if finding.count is None:
            raise SystemExit(f"{finding.step}, {finding.tool}: {finding.message}")
        cell.fact(f"{finding.tool}.{finding.step}", finding.count, "findings")
    cell.fact("scaled_findings", sum(finding.count or 0 for finding in findings), "findings")


def sanitized() -> list[Finding]:
    """Run each step under each tool, some at a time."""
    build_all([(step, "bf16") for step in STEPS.values()], CACHE)
    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(lambda pair: _sanitized(*pair), product(STEPS, SUMMARIES)))


def _sanitized(name: str, tool: str) -> Finding:
    argv = ["compute-sanitizer", f"--tool={tool}", sys.executable, str(HERE), "--child", name]
    output, status = ended(argv, LIMIT_S)
    if status is None:
        return Finding(name, tool, None, f"no end after {LIMIT_S:.0f} s")
    return read(name, tool, output, status)


def operands() -> Product:
    """Return operands of constant bits; two of 8 bits, or half of a scale, are an element."""
    a, b, c = Matrix(M, K // 2), Matrix(N, K // 2), Matrix(M, N)
    rows = Scaled(a, b, Matrix(M, 2), Matrix(N, 2))
    blocks = Scaled(a, b, Matrix(K // BLOCK * M, 2), Matrix(-(-N // BLOCK) * K // BLOCK, 2))
    return Product(Matrix(M, K), Matrix(N, K), rows, blocks, c)


def child(name: str) -> None:
    """Compute one product on ``SMS`` multiprocessors, in the device's primary context."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    kernel = ScaledKernel(STEPS[name], build(STEPS[name]).cubin, SMS)
    kernel.bind(operands())(0)
    call("cuCtxSynchronize")


def main() -> int:
    """Print a line for each step and tool; return 1 if any tool reported an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", choices=list(STEPS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    findings = sanitized()
    for finding in findings:
        print(f"{finding.step:4} {finding.tool:10} {finding.message or 'clean'}")
    return int(any(finding.message for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
