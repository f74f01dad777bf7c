"""Compile steps to cubins with nvcc, and print the resources that each takes.

``python build.py [step …]`` prints the table. Compiling needs no GPU.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from step import HOPPER, Step
from steps import COUNTERS, EVERY, STEPS, named

KERNELS = Path(__file__).parent / "kernels"
READY = Path(__file__).parent / ".cubins"
"""Folder of prebuilt cubins, copied to machines without nvcc."""


def cache_folder() -> Path:
    """Return the cubins' folder: HGEMM_CACHE; in a cell, beside its variant's caches."""
    if "HGEMM_CACHE" in os.environ:
        return Path(os.environ["HGEMM_CACHE"])
    if "HARNESS_CELL" in os.environ:  # a container mounts this folder read only
        return Path(os.environ["TRITON_CACHE_DIR"]).parent / "cubins"
    return READY


CACHE = cache_folder()
"""The default folder of cubins."""
ELEMENTS = ("bf16", "fp16")
FLAGS = (
    "-std=c++17",
    "-O3",
    "-lineinfo",
    "-cubin",
    "-Xptxas=-v,-warn-spills,-warn-lmem-usage",
)
TIMEOUT_S = 300


class BuildError(Exception):
    """A step did not compile, spilled or drew warnings; the message has nvcc's output."""


@dataclass(frozen=True)
class Built:
    """A cubin and ptxas's report: registers a thread, bytes, named barriers."""

    step: str
    element: str
    cubin: Path
    registers: int
    spill_bytes: int
    stack_bytes: int
    static_shared_bytes: int
    barriers: int
    warnings: tuple[str, ...]


def command(step: Step, element: str, architecture: str, output: Path) -> list[str]:
    """Return nvcc's argument list; ``architecture`` such as ``sm_90a``."""
    number = architecture.removeprefix("sm_")
    macros = {f"ELEMENT_{element.upper()}": 1} | step.defines()
    return [
        shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc",
        *FLAGS,
        f"-gencode=arch=compute_{number},code=sm_{number}",
        *(f"-D{name}={value}" for name, value in macros.items()),
        "-o",
        str(output),
        str(KERNELS / step.file),
    ]


def build(
    step: Step,
    element: str = "bf16",
    cache: Path = CACHE,
    architecture: str = HOPPER,
    extra: dict[str, int] | None = None,
) -> Built:
    """Return the step's cubin, compiled unless cached; ``extra``: further macros.

    ``architecture``: of the device; a cubin runs on its own generation only.

    Raises ``BuildError`` if nvcc fails, or if a step marked fast spills or draws a warning.
    """
    key = _key(step, element, architecture, extra)
    files = [(folder / f"{key}.cubin", folder / f"{key}.log") for folder in (cache, READY)]
    cubin, log = next((pair for pair in files if pair[0].exists() and pair[1].exists()), files[0])
    if not (cubin.exists() and log.exists()):
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = cache / f"{key}.{os.getpid()}.unfinished"
        argv = command(step, element, architecture, unfinished)
        argv[1:1] = [f"-D{name}={value}" for name, value in (extra or {}).items()]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        output = done.stdout + done.stderr
        if done.returncode:
            unfinished.unlink(missing_ok=True)
            raise BuildError(f"{step.name} ({element}): nvcc failed\n{output}")
        log.write_text(output, encoding="utf-8")
        unfinished.replace(cubin)
    built = read_log(step.name, element, cubin, log.read_text(encoding="utf-8"))
    if step.fast and not extra and (built.spill_bytes or built.stack_bytes or built.warnings):
        raise BuildError(f"{step.name} ({element}): spills or warnings\n" + log.read_text())
    return built


def build_all(
    steps: Iterable[tuple[Step, str]],
    cache: Path = CACHE,
    jobs: int = 0,
    extra: dict[str, int] | None = None,
) -> list[Built | BuildError]:
    """Compile several (step, element) at once; a failed step's place holds its error."""

    def result(pair: tuple[Step, str]) -> Built | BuildError:
        try:
            return build(*pair, cache, extra=extra)
        except BuildError as error:
            return error
        except (OSError, subprocess.TimeoutExpired) as error:
            return BuildError(f"{pair[0].name}: {error}")

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(result, steps))


def read_log(step: str, element: str, cubin: Path, log: str) -> Built:
    """Return the numbers in the output of ``-Xptxas -v``."""

    def number(pattern: str) -> int:
        match = re.search(pattern, log)
        return int(match[1]) if match else 0

    warnings = tuple(
        line for line in log.splitlines() if re.search(r"\bwarning\b|C75\d\d", line, re.IGNORECASE)
    )
    return Built(
        step,
        element,
        cubin,
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        number(r"(\d+) bytes stack frame"),
        number(r"(\d+) bytes smem"),
        number(r"used (\d+) barriers"),
        warnings,
    )


def _key(step: Step, element: str, architecture: str, extra: dict[str, int] | None) -> str:
    """Return a cubin's name: a digest of its sources and flags."""
    digest = hashlib.sha256()
    for path in sorted(KERNELS.glob("*.cu*")):  # h9 includes another step's
        digest.update(path.read_bytes())
    digest.update(
        repr((FLAGS, sorted(step.defines().items()), sorted((extra or {}).items()))).encode()
    )
    return f"{step.name}-{element}-{architecture}-{digest.hexdigest()[:16]}"


def main() -> int:
    """Print the resources of the named steps, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", type=_buildable, help="names; default: all")
    parser.add_argument("--candidates", action="store_true", help="the best kernel's, too")
    parser.add_argument("--element", choices=ELEMENTS, default="bf16")
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args()
    every = (EVERY if options.candidates else STEPS) | {COUNTERS.name: COUNTERS}
    chosen = [(EVERY | every)[name] for name in options.steps] or list(every.values())
    results = build_all([(step, options.element) for step in chosen], options.cache)
    head = f"{'step':34} {'tile':>11} {'stages':>6} {'threads':>7} {'regs':>4} {'spill B':>7}"
    print(f"{head} {'static B':>8} {'dynamic B':>9} {'blocks/SM':>9}")
    for step, built in zip(chosen, results, strict=True):
        if isinstance(built, BuildError):
            print(f"{step.name:34} {built}")
            continue
        tile = "x".join(map(str, step.tile))
        print(
            f"{step.name:34} {tile:>11} {step.stages:6} {step.threads:7} {built.registers:4}"
            f" {built.spill_bytes:7} {built.static_shared_bytes:8} {step.shared_bytes:9}"
            f" {blocks_per_sm(step, built):9}"
        )
    return int(any(isinstance(built, BuildError) for built in results))


def _buildable(text: str) -> str:
    return text if text == COUNTERS.name else named(text)


def blocks_per_sm(step: Step, built: Built) -> int:
    """Return how many blocks fit on a multiprocessor of sm_90, from its three budgets."""
    warps = -(-step.threads // 32)
    registers = 65536 // (warps * 32 * -(-built.registers // 8) * 8)
    shared = 233_472 // (step.shared_bytes + built.static_shared_bytes + 1024)
    return min(registers, shared, 64 // warps, 32)


if __name__ == "__main__":
    sys.exit(main())
