"""How CPU time and memory of every command on a capture, a run or a report grow with its size.

    python benchmarks/growth.py [--only WORD] [--quick] [--check] [--write FILE]

Inputs: exports of nsys and traces of torch.profiler that repeat small ones that were recorded on an
H200; traces whose kernels are each on a stream, of a thread or of a name of its own; histories of
allocators; runs of a study. Each measurement is a fresh process that reads from the page cache; the
peak is the largest of any process of the command. The exponent is that of CPU time from the second
largest size to the largest, less what a command takes to start: 1 is linear.

`--check` exits with 1 if an exponent or a peak is above its bound: see docs/reliability.md.
`--quick` leaves out the largest size of each input, which takes minutes and gigabytes of disk.
"""

import argparse
import functools
import gzip
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import memory_snapshot
import nsys_inspect
import torch_trace
from timed import ROOT

sys.path.insert(0, str(ROOT))

MOST_EXPONENT = 1.1
HARNESS = [sys.executable, "-m", "harness"]
TIMELINE = ("inspect", "diagnose", "audit", "view", "diff")
MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
said = done.stderr.strip().splitlines()[-1:] or [""]
cpu_s = used.ru_utime + used.ru_stime
known = {"code": done.returncode, "said": said[0], "cpu_s": cpu_s, "peak_kb": used.ru_maxrss}
print(json.dumps(known))
"""
"""Runs a command and prints what it took: it has no other child."""
MOST_CELLS_OF_A_REPORT = 10_000
_MEASURED_S = 1.0
"""CPU seconds of growth below which an exponent is noise."""

Make = Callable[[Path, int], None]


@dataclass(frozen=True)
class Input:
    """What is made in which sizes, counted in ``unit``, and which commands are given it."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    make: Make
    commands: tuple[str, ...]
    most_mb: dict[str, int]


@dataclass(frozen=True)
class Cost:
    """What a command took: CPU time in s, peak resident memory in MB (2**20), its last line."""

    cpu_s: float
    peak_mb: float
    said: str


def export(path: Path, kernels: int) -> None:
    """Write an export of nsys with so many kernels."""
    nsys_inspect.SOURCE = ROOT / "tests/data/nsys/streams.sqlite.zst"
    nsys_inspect.scaled(path, kernels)


def trace(path: Path, megabytes: int) -> None:
    """Write a trace of torch.profiler of so many MB."""
    small = gzip.decompress((ROOT / "tests/data/torch/streams.json.gz").read_bytes())
    with path.open("wb") as file:
        file.writelines(torch_trace.repeated(small, megabytes * 10**6))


def wide(what: str) -> Make:
    """Return a maker of traces of so many kernels, each of a stream, thread or name of its own."""

    def make(path: Path, count: int) -> None:
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write('{"traceEvents":[')
            file.write(",".join(_launches(what, count)))
            file.write("]}")

    return make


def _launches(what: str, count: int) -> Iterator[str]:
    own = {"stream": 7, "thread": 1, "name": 0}
    for number in range(count):
        own[what] = number
        args = {"correlation": number + 1}
        call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": own["thread"]}
        placed = {"device": 0, "stream": own["stream"], "grid": [1, 1, 1], "block": [128, 1, 1]}
        kernel = {"cat": "kernel", "name": f"kernel_{own['name']}", "tid": own["stream"]}
        for event, at, more in ((call, 0, {}), (kernel, 8, placed)):
            times = {"ph": "X", "pid": 0, "ts": number * 20.0 + at, "dur": 5.0}
            yield json.dumps(event | times | {"args": args | more})


def history(path: Path, events: int) -> None:
    """Write a memory snapshot with a history of so many events."""
    import pickle

    path.write_bytes(pickle.dumps(memory_snapshot.snapshot(events), 4))


def study(folder: Path, cells: int) -> None:
    """Write a study and a run of so many cells, and the report of that run without its page."""
    from harness.extract import run as extraction
    from harness.ground import json_text
    from harness.store.run_folder import Run
    from tests.support.manifests import GOOD, written
    from tests.support.origins import origin

    cases = max(1, min(50, cells // 20))
    named = "\n".join(f"  case{number}: {{label: Case {number}}}" for number in range(cases))
    text = GOOD.replace("  small: {label: Small}", named).replace("case: small", "case: case0")
    problem = written(folder, text)
    run = Run.create(folder / "runs", problem.name, origin())
    for number in range(cells):
        variant = ("slow", "fast")[number % 2]
        case, again = f"case{number // 2 % cases}", number // 2 // cases
        name = f"{case}.{variant}.timing.r{again}"
        samples = [
            {
                "region": "r",
                "metric": "wall_time",
                "unit": "ms",
                "index": index,
                "value": 1.0 + index,
            }
            for index in range(8)
        ]
        known = {"id": name, "variant": variant, "case": case, "capture": "timing", "round": again}
        record = known | {"status": "ok", "reason": "", "wall_s": 1.0, "started": 1.0, "gpu": None}
        record |= {"seen": {"samples": 0}, "workload": {"samples": samples}}
        place = run.cell(name)
        place.mkdir(parents=True)
        (place / "cell.json").write_text(json_text.sealed(record))
    if cells <= MOST_CELLS_OF_A_REPORT:
        extraction.extract(run, folder / "report" / "evidence")


INPUTS = (
    Input("nsys export", "kernels", (10**5, 10**6, 10**7), export, TIMELINE, {}),
    Input("torch trace", "MB", (20, 200, 2000), trace, TIMELINE, {}),
    Input("streams", "streams", (20_000, 200_000), wide("stream"), TIMELINE, {}),
    Input("threads", "threads", (20_000, 200_000), wide("thread"), TIMELINE, {}),
    Input("names", "names", (20_000, 200_000), wide("name"), TIMELINE, {}),
    Input(
        "snapshot", "events", (10**5, 10**6), history, ("inspect", "diagnose", "view", "diff"), {}
    ),
    Input(
        "study", "cells", (10**3, 10**4, 10**5), study, ("check run", "check report", "report"), {}
    ),
)


def command(name: str, path: Path, scratch: Path) -> list[str]:
    """Return the command line of a command on an input."""
    run = next(iter(path.glob("runs/*/*")), path)
    words = {
        "diff": ["diff", str(path), str(path)],
        "view": ["view", str(path), "-o", str(scratch / "view.html")],
        "check run": ["check", str(path / "9-example"), "--run", str(run)],
        "check report": ["check", str(path / "9-example"), "--report", str(path / "report")],
        "report": ["report", str(path / "9-example"), "--report", str(path / "report")],
    }
    return HARNESS + words.get(name, [name, str(path)])


def cost(argv: list[str]) -> Cost:
    """Run a command and return the cost of it and of all that it started.

    A process of its own starts it, as a peak counts what the starting process held.
    """
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    known = json.loads(told.stdout)
    if known["code"] not in (0, 1, 3) and not known["said"].startswith("harness: "):
        sys.exit(f"{' '.join(argv)}: exit code {known['code']}: {known['said']}")
    return Cost(known["cpu_s"], known["peak_kb"] / 1024, known["said"])


def exponent(sizes: tuple[int, ...], seconds: list[float], start_s: float) -> float | None:
    """Return the exponent of the growth from the second largest size to the largest, if any.

    ``start_s`` is what a command takes of a capture of a few operations.
    """
    below, above = (each - start_s for each in seconds[-2:])
    if len(sizes) < 2 or above - below < _MEASURED_S:
        return None
    return math.log(above / max(below, 0.1)) / math.log(sizes[-1] / sizes[-2])


@functools.cache
def start_s(name: str) -> float:
    """Return the CPU seconds that a command on a capture takes to start, 0 of any other."""
    if name not in TIMELINE:
        return 0.0
    with tempfile.TemporaryDirectory() as folder:
        argv = command(name, ROOT / "tests/data/torch/memset_overlap.json.gz", Path(folder))
        return min(cost(argv).cpu_s for _ in range(3))


def measured(each: Input, sizes: tuple[int, ...], scratch: Path) -> Iterator[tuple[str, bool]]:
    """Yield a line for each command on an input, and whether it keeps within its bounds."""
    paths = {size: scratch / f"{each.name.split()[0]}{size}" for size in sizes}
    for size, path in paths.items():
        if each.make is study:
            path.mkdir()
        each.make(path, size)
    for name in each.commands:
        costs = [cost(command(name, paths[size], scratch)) for size in sizes]
        grown = exponent(sizes, [known.cpu_s for known in costs], start_s(name))
        most = each.most_mb.get(name, math.inf)
        good = (grown is None or grown <= MOST_EXPONENT) and costs[-1].peak_mb <= most
        told = "  ".join(f"{known.cpu_s:7.1f} s {known.peak_mb:6.0f} MB" for known in costs)
        power = "" if grown is None else f"{grown:.2f}"
        refused = next((known.said for known in costs if known.said.startswith("harness: ")), "")
        why = refused.replace(str(scratch), "")[:110]
        yield f"{each.name:12} {name:13} {told}  {power:5} {why}", good
    for path in paths.values():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="inputs whose name holds this word")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lines, wrong = [time.strftime("%Y-%m-%d"), ""], []
    with tempfile.TemporaryDirectory() as folder:
        for each in INPUTS:
            if options.only and options.only not in each.name:
                continue
            sizes = each.sizes[:-1] if options.quick and len(each.sizes) > 2 else each.sizes
            lines.append(f"{each.unit}: {', '.join(f'{size:,}' for size in sizes)}; exponent")
            print(lines[-1], flush=True)
            for line, good in measured(each, sizes, Path(folder)):
                lines.append(line.rstrip())
                wrong += [] if good else [line]
                print(lines[-1], flush=True)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")
    if options.check and wrong:
        sys.exit("beyond its bounds:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
