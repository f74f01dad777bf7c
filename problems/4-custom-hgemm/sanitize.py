"""Run steps under compute-sanitizer: no access outside memory, no hazard in shared memory.

    python sanitize.py                    # every step, with memcheck and with racecheck
    python sanitize.py --steps h6_multicast --element fp16

Each step computes a ragged product on a few multiprocessors, so that the persistent ones walk
several tiles. Whether the product is right is checked elsewhere: here the matrices are constant and
torch is not loaded, in whose process racecheck ends with an internal error.
"""

import argparse
import ctypes
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from build import CACHE, ELEMENTS, BuildError, build, build_all
from checking import Shape
from launch import Kernel, call
from step import ELEMENT_BYTES, Step
from steps import EVERY, RUNGS, STEPS, named
from watchdog import ended

HERE = Path(__file__).resolve()
SHAPE: Shape = (392, 776, 328)
"""Four rows and columns of 128 by 256 tiles, the last of each in part; K ends within a step."""
SMS = 4
ONE = 0x3C00  # in fp16; in bf16 another number, and as constant
JOBS = 6
LIMIT_S = 120.0
SUMMARIES = {
    "memcheck": r"ERROR SUMMARY: (\d+) errors?",
    "racecheck": r"RACECHECK SUMMARY: (\d+) hazards? displayed",
}
"""The last line of each tool's output; the number in it has to be zero."""
_OWN = "========="
"""Prefix of the tool's own lines, as opposed to the program's."""


@dataclass(frozen=True)
class Finding:
    """A tool's result for a step; ``count`` is None where the tool did not finish."""

    step: str
    tool: str
    count: int | None
    message: str


def sanitized(
    steps: list[Step], element: str, cache: Path, tools: list[str] | None = None
) -> list[Finding]:
    """Run steps under tools, some at a time; raises ``BuildError`` for a step that is not built."""
    for built in build_all([(step, element) for step in steps], cache):
        if isinstance(built, BuildError):
            raise built
    pairs = list(product(steps, tools or list(SUMMARIES)))
    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(lambda pair: _sanitized(*pair, element, cache), pairs))


def _sanitized(step: Step, tool: str, element: str, cache: Path) -> Finding:
    argv = ["compute-sanitizer", f"--tool={tool}", sys.executable, str(HERE), "--child"]
    argv += [f"--steps={step.name}", f"--element={element}", f"--cache={cache}"]
    output, status = ended(argv, LIMIT_S)
    if status is None:
        return Finding(step.name, tool, None, f"no end after {LIMIT_S:.0f} s")
    return read(step.name, tool, output, status)


def read(step: str, tool: str, output: str, status: int) -> Finding:
    """Return the finding in the tool's output; ``status``: the exit status of the process.

    A summary of zero counts only without other lines of the tool: one of them may warn that hazards
    were missed.
    """
    summary = re.search(SUMMARIES[tool], output)
    count = int(summary[1]) if summary else None
    lines = output.splitlines()
    own = [line.removeprefix(_OWN).strip() for line in lines if line.startswith(_OWN)]
    own = [line for line in own if line and line != "COMPUTE-SANITIZER" and "SUMMARY" not in line]
    if count == 0 and status == 0 and not own:
        return Finding(step, tool, 0, "")
    message = " | ".join((own or lines[-3:])[:3]) or f"exit {status}"
    return Finding(step, tool, count or None, message)


def cell(cell: Any) -> None:
    """State both tools' counts for every step; a tool that does not finish fails the cell."""
    if not shutil.which("compute-sanitizer"):
        raise SystemExit("compute-sanitizer is not on PATH: it comes with the CUDA toolkit")
    names = {step.name: short for short, step in RUNGS.items()}
    with cell.exclusively():
        findings = sanitized(list(STEPS.values()), cell.params["element"], CACHE)
    for tool, fact, unit in (
        ("memcheck", "memory_errors", "errors"),
        ("racecheck", "hazards", "hazards"),
    ):
        of_tool = [finding for finding in findings if finding.tool == tool]
        for finding in of_tool:
            if finding.count is None:
                raise SystemExit(f"{finding.step}, {tool}: {finding.message}")
            cell.fact(f"{fact}.{names.get(finding.step, finding.step)}", finding.count, unit)
        cell.fact(f"all_{fact}", sum(finding.count or 0 for finding in of_tool), unit)


# ---- in the child: the only part that touches the GPU ----


class Matrix:
    """The part of the tensor interface that a launch reads; memory full of one number."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = (rows, columns)
        self._address = ctypes.c_uint64()
        count = ctypes.c_size_t(rows * columns)
        size = ctypes.c_size_t(rows * columns * ELEMENT_BYTES)
        call("cuMemAlloc_v2", ctypes.byref(self._address), size)
        call("cuMemsetD16_v2", self._address, ctypes.c_ushort(ONE), count)

    def data_ptr(self) -> int:
        """Return the address on the device."""
        return self._address.value

    def is_contiguous(self) -> bool:
        """Return True: the memory has no gaps."""
        return True


def child(step: Step, element: str, cache: Path) -> None:
    """Compute one product on ``SMS`` multiprocessors, in the device's primary context."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    m, n, k = SHAPE
    run = Kernel(step, build(step, element, cache).cubin, element, SMS)
    run.bind(Matrix(m, k), Matrix(k, n), Matrix(m, n))(0)
    call("cuCtxSynchronize")


def main() -> int:
    """Print a line for each step and tool; return 1 if any tool reported an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps", nargs="+", type=named, default=list(STEPS), help="names; default: all"
    )
    parser.add_argument("--element", choices=ELEMENTS, default="bf16")
    parser.add_argument("--tools", nargs="*", choices=list(SUMMARIES))
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    steps = [EVERY[name] for name in options.steps]
    if options.child:
        child(steps[0], options.element, options.cache)
        return 0
    findings = sanitized(steps, options.element, options.cache, options.tools)
    for finding in findings:
        print(f"{finding.step:24} {finding.tool:10} {finding.message or 'clean'}")
    return int(any(finding.message for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
