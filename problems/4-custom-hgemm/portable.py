"""The portable steps from PTX of sm_80, which the driver compiles for the GPU at hand.

What this measures is what an A100, an L40S or an RTX 4090 gets of the ladder; where none of them is
at hand, it shows that the steps ask for nothing that is newer.
"""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from build import CACHE, KERNELS, TIMEOUT_S, BuildError, command
from contenders import buffers, cublaslt, prepare, product
from contest import RAGGED, as_shape, right
from facts import keep, of_errors, of_shape, over_all, state
from launch import Kernel
from rates import flop, tflops
from step import PORTABLE, Step
from steps import BASELINES, RUNGS

from harness.probe import ratios
from harness.probe.paired import interleaved
from harness.probe.power import Monitor

VIRTUAL = "compute_80"


def ptx(step: Step, element: str, cache: Path) -> Path:
    """Return the step's PTX, compiled unless cached; ``BuildError`` if nvcc fails."""
    nvcc, *rest = command(step, element, PORTABLE, Path("output"))
    kept = [each for each in rest if not each.startswith(("-cubin", "-gencode", "-Xptxas"))]
    argv = [nvcc, "-ptx", f"-arch={VIRTUAL}", *kept]
    digest = hashlib.sha256(repr(argv).encode())
    for path in sorted(KERNELS.glob("*.cu*")):
        digest.update(path.read_bytes())
    file = cache / f"{step.name}-{element}-{VIRTUAL}-{digest.hexdigest()[:16]}.ptx"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = cache / f"{file.stem}.{os.getpid()}.unfinished"
        argv[argv.index("output")] = str(unfinished)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            unfinished.unlink(missing_ok=True)
            raise BuildError(f"{step.name} ({element}): nvcc failed\n{done.stdout + done.stderr}")
        unfinished.replace(file)
    return file


def portable(cell: Any) -> None:
    """Time the portable steps and the baselines interleaved; each is a region of the cell."""
    element, shape = cell.params["element"], as_shape(cell.params["shape"])
    steps = [RUNGS[name] for name in cell.params["contenders"] if name in RUNGS]
    prepare()
    state(cell, of_shape(shape))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        files = list(pool.map(partial(ptx, element=element, cache=CACHE), steps))
    kernels = {
        step.name.partition("_")[0]: Kernel(step, file, element)
        for step, file in zip(steps, files, strict=True)
    }
    exactness = []
    for name, run in kernels.items():
        right(name, run, element, RAGGED)
        exactness.append(right(name, run, element, shape))
        state(cell, of_errors(exactness[-1]), name)
    state(cell, over_all(exactness, []))
    sets = buffers(element, shape)
    turns, batch_ms = int(cell.params["turns"]), float(cell.params["batch_ms"])
    with cell.exclusively():
        library, choice = cublaslt(element, shape, sets)
        cell.fact("choice_of_cublaslt", choice)
        runs = {"torch": product, "cublaslt": library, **kernels}
        measured = interleaved(runs, sets, turns, Monitor(), None, batch_ms)
    times = {name: each.us for name, each in measured.items()}
    climbed = ratios.climbed(times, list(RUNGS))
    for name, us in times.items():
        keep(cell, name, {"tflops": tflops(flop(shape), us)})
        keep(cell, name, ratios.of_baselines(times, name, BASELINES) | climbed.get(name, {}))
