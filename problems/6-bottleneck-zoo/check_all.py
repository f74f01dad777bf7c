"""Compile, run and check all specimens, and time both twins; one line a specimen.

    python check_all.py                     # on a GPU: all of them
    python check_all.py uncoalesced kernel/bank     # those whose names hold one of these
    python check_all.py --cpu               # small sizes: references, and twins that run on a CPU

Specimens run in child processes that are started again after a crash or a hang, so a broken
specimen costs its own line only. Children compile and check side by side; a child that times has
the GPU to itself. The times are a first look, not a measurement.
"""

import argparse
import contextlib
import fcntl
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch
from specimen import TWINS, Specimen, Step, WrongResultError, load, names

SILENCE_S = 60
"""Seconds without a line after which a child is taken to hang."""
SAMPLES, SAMPLE_MS = 5, 10

Line = dict[str, Any]


def main() -> int:
    """Print a line a specimen; return 1 if one is not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="parts of names; default: all specimens")
    parser.add_argument("--cpu", action="store_true", help="small sizes, on the CPU")
    parser.add_argument("--jobs", type=int, default=4, help="processes side by side")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1]))  # of workloads/, where no harness does it
    if options.child:
        return report(options.parts, options.child, cpu=options.cpu)
    chosen = [
        name for name in names() if not options.parts or any(part in name for part in options.parts)
    ]
    if not options.cpu:
        compile_all()
    failed = 0
    print(f"{'specimen':52} {'sick ms':>9} {'healthy ms':>10} {'gain':>6}")
    for line in lines(chosen, options.jobs, cpu=options.cpu):
        failed += "wrong" in line
        print(shown(line), flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} are right")
    return int(failed > 0)


def compile_all() -> None:
    """Compile every CUDA source side by side, and print those that fail."""
    from cuda_kernel import architecture, build_all, cache_folder

    for key, built in build_all(architecture(), cache_folder()).items():
        if isinstance(built, Exception):
            print(*key, built)


def lines(chosen: list[str], jobs: int, *, cpu: bool) -> Iterator[Line]:
    """Yield what children report of each specimen, as it comes; ``jobs`` children at a time."""
    told: queue.Queue[Line] = queue.Queue()

    def listen(part: list[str], lock: str) -> None:
        for line in lines_of_part(part, lock, cpu=cpu):
            told.put(line)

    with tempfile.NamedTemporaryFile() as lock:
        for job in range(jobs):
            part = (chosen[job::jobs], lock.name)
            threading.Thread(target=listen, args=part, daemon=True).start()
        for _ in chosen:
            yield told.get()


def lines_of_part(left: list[str], lock: str, *, cpu: bool) -> Iterator[Line]:
    """Yield a line for each of these, with a fresh child after one that failed."""
    while left:
        argv = [sys.executable, __file__, "--child", lock, *(["--cpu"] if cpu else []), *left]
        reported: list[Line] = []
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
            for line in _lines_of(child):
                reported.append(line)
                yield line
            child.kill()
        left = left[len(reported) :]
        if left and not (reported and "wrong" in reported[-1]):
            yield {"specimen": left[0], "wrong": f"its process ended with {child.returncode}"}
            left = left[1:]


def _lines_of(child: "subprocess.Popen[str]") -> Iterator[Line]:
    """Yield a child's lines until it ends or is silent for too long."""
    told: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for text in child.stdout or ():
            told.put(text)
        told.put("")

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            text = told.get(timeout=SILENCE_S)
        except queue.Empty:
            return
        if not text:
            child.wait()
            return
        if text.startswith('{"specimen"'):
            yield json.loads(text)


def report(chosen: list[str], lock: Path, *, cpu: bool) -> int:
    """Print a JSON line a specimen; end at the first that fails, as the context may be lost."""
    for name in chosen:
        line: Line = {"specimen": name}
        try:
            line |= on_cpu(load(name)) if cpu else on_gpu(load(name), lock)
        except Exception as error:
            line["wrong"] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        print(json.dumps(line), flush=True)
        if "wrong" in line:
            return 1
    return 0


def on_gpu(specimen: Specimen, lock: Path) -> Line:
    """Return each twin's error and ms a step."""
    line: Line = {}
    with held(lock, fcntl.LOCK_SH):
        inputs = specimen.inputs_on("cuda")
        torch.cuda.synchronize()
    for twin in TWINS:
        with held(lock, fcntl.LOCK_SH):
            step = specimen.begin(twin, inputs)
            line[f"{twin}_error"] = specimen.checked(step(), inputs)
        with held(lock, fcntl.LOCK_EX):
            line[f"{twin}_ms"] = step_ms(step)
        with held(lock, fcntl.LOCK_SH):
            del step
            torch.cuda.empty_cache()
    return line


@contextlib.contextmanager
def held(lock: Path, kind: int) -> Iterator[None]:
    """Hold a file's lock: shared for work on the GPU, exclusive to be alone there while timing."""
    with lock.open() as file:
        fcntl.flock(file, kind)
        yield


def on_cpu(specimen: Specimen) -> Line:
    """Return the error of each twin that runs on a CPU; the reference runs in any case."""
    inputs = specimen.inputs_on("cpu", small=True)
    reference = specimen.reference(inputs)
    line: Line = {"elements": reference.numel()}
    if not reference.isfinite().all():
        raise WrongResultError("the reference has elements that are not finite")
    if specimen.portable:
        for twin in TWINS:
            line[f"{twin}_error"] = specimen.checked(specimen.begin(twin, inputs)(), inputs)
    return line


def step_ms(step: Step) -> float:
    """Return the median wall ms of a step over samples of about 10 ms each."""
    once = min(_mean_ms(step, 1) for _ in range(3))
    steps = max(1, min(200, round(SAMPLE_MS / max(once, 1e-3))))
    return median(_mean_ms(step, steps) for _ in range(SAMPLES))


def _mean_ms(step: Step, steps: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


def shown(line: Line) -> str:
    """Return a specimen's line for the terminal."""
    name = line["specimen"]
    if "wrong" in line:
        return f"{name:52} FAILED {line['wrong']}"
    if "sick_ms" not in line:
        return f"{name:52} ok"
    sick, healthy = line["sick_ms"], line["healthy_ms"]
    errors = f"errors {line['sick_error']:.0e} {line['healthy_error']:.0e}"
    return f"{name:52} {sick:9.3f} {healthy:10.3f} {sick / healthy:6.2f} ok, {errors}"


if __name__ == "__main__":
    sys.exit(main())
