"""Compile the kernels for every shape to cubins with nvcc; compiling needs no GPU.

``python cubins.py nn nt`` builds what the sets of shapes need in these layouts.
"""

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

from auxiliary import ADD_PARTS, ALIGN_ROWS, TRANSPOSE
from families import LAYOUTS
from ladder import FOLDER, HOPPER, BuildError, Built, Step, build_rung, command, read_log
from plans import Problem, plans
from shape_sets import ODD, reported, tuning

KERNELS = Path(__file__).resolve().parent / "kernels"
SHARED = FOLDER / "kernels"
"""Problem 4's headers, which the kernels include."""
CACHE = Path(os.environ.get("HGEMM_CACHE", KERNELS.parent / ".cubins"))
TIMEOUT_S = 300
MOST_SPILLED = 64
"""Bytes a thread, stores and loads together: addresses that wait for a tile's end."""


def build(step: Step, element: str = "bf16", cache: Path = CACHE) -> Built:
    """Return the step's cubin, compiled unless cached.

    Raises ``BuildError`` if nvcc fails, if the kernel spills more than a few words, or if ptxas
    warns that it ignores setmaxnreg or serialises wgmma (C7508 to C7514). A step of problem 4 is
    built by that problem's rules.
    """
    if not (KERNELS / step.file).exists():
        return build_rung(step, element, cache)
    name = f"{step.name}-{element}-{_digest(step)}"
    cubin, log = cache / f"{name}.cubin", cache / f"{name}.log"
    if not (cubin.exists() and log.exists()):
        with compiling(cubin) as unfinished:
            argv = command(step, element, HOPPER, unfinished)
            argv[1:] = ["-I", str(SHARED), *argv[1:-1], str(KERNELS / step.file)]
            log.write_text(compiled(argv, f"{step.name} ({element})"), encoding="utf-8")
    built = read_log(step.name, element, cubin, log.read_text(encoding="utf-8"))
    serialised = any("C75" in warning for warning in built.warnings)
    if built.spill_bytes > MOST_SPILLED or serialised:
        raise BuildError(f"{step.name} ({element}): spills or warnings\n" + log.read_text())
    return built


@contextlib.contextmanager
def compiling(target: Path) -> Iterator[Path]:
    """Yield a path that becomes ``target`` at the end, and is removed where the block raises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.parent / f"{target.stem}.{os.getpid()}.unfinished"
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def compiled(argv: list[str], what: str) -> str:
    """Run a compiler and return its output; ``BuildError`` if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise BuildError(f"{what}: {Path(argv[0]).name} failed\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def steps(layouts: list[str]) -> list[Step]:
    """Return all that the plans of the sets' shapes and of the odd ones run.

    Problem 4's steps are compiled for dependent launches and without: in theirs that is a macro.
    """
    shapes = [*tuning(), *reported(), *ODD]
    problems = [Problem(shape, layout) for layout in layouts for shape in shapes]
    found = {step.name: step for p in problems for plan in plans(p) for step in (plan.step(p),)}
    own = [step for step in found.values() if (KERNELS / step.file).exists()]
    rungs = [step for step in found.values() if step not in own]
    climbed = [replace(step, pdl=pdl) for step in rungs for pdl in (True, False)]
    return [ALIGN_ROWS, TRANSPOSE, ADD_PARTS, *own, *climbed]


def _digest(step: Step) -> str:
    digest = hashlib.sha256(repr(sorted(step.defines().items())).encode())
    for path in sorted(_included(step.file)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _included(name: str) -> set[Path]:
    """Return a kernel's file and all that it includes of both problems."""
    path = next((folder / name for folder in (KERNELS, SHARED) if (folder / name).exists()), None)
    if path is None:
        return set()  # of CUDA
    names = re.findall(r'^#include ["<]([^">]+)', path.read_text(encoding="utf-8"), re.MULTILINE)
    return {path}.union(*map(_included, names))


def main() -> int:
    """Build and print each kernel's registers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layouts", nargs="*", choices=LAYOUTS, default=["nn"])
    parser.add_argument("--element", default="bf16")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    failed = False

    def line(step: Step) -> str:
        nonlocal failed
        try:
            return f"{step.name:40} {build(step, options.element).registers} registers"
        except BuildError as error:
            failed = True
            return str(error)

    with ThreadPoolExecutor(options.jobs) as pool:
        for text in pool.map(line, steps(options.layouts)):
            print(text, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
