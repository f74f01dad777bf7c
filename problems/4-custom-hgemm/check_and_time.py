"""Check steps and time them against cuBLAS, each in its own process: a deadlock stays in that one.

    python check_and_time.py                       # every step: correct? then 4096 and 8192 cubed
    python check_and_time.py --steps h3_two_consumers --sizes 4096 --element fp16
    python check_and_time.py --sweep --shapes suite --output sweep.jsonl

Results go to the terminal, one line a step, and as JSON lines to ``--output``. Cubins are built
first where nvcc is; copy ``--cache`` from elsewhere where it is not.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from build import CACHE, ELEMENTS, BuildError, build_all
from checking import Shape, check
from contenders import buffers, cublaslt, kernel, prepare, product
from rates import flop, tflops
from step import HOPPER, Step
from steps import CANDIDATES, EVERY, STEPS, beginning, shapes_of
from watchdog import ended

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2]))  # harness.probe, of this checkout
WATCHDOG_MS = 2000
"""In checks, a wait inside a kernel that lasts longer traps: the process reports an error."""


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps", nargs="*", type=beginning, default=[], help="names, prefixes; default: all"
    )
    parser.add_argument("--element", choices=(*ELEMENTS, "both"), default="bf16")
    parser.add_argument("--sizes", type=int, nargs="*", default=[4096, 8192], help="M = N = K")
    parser.add_argument(
        "--shapes", nargs="*", type=shapes_of, action="extend", default=[], help="MxNxK, or: suite"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch-ms", type=float, default=12.0, help="250: sustained clocks")
    parser.add_argument("--sweep", action="store_true", help="the best kernel's configurations")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--small", action="store_true", help="check no large shapes")
    parser.add_argument("--isolate", action="store_true", help="time each step in its own process")
    parser.add_argument("--verbose", action="store_true", help="print every shape checked")
    parser.add_argument("--jobs", type=int, default=6, help="checks at the same time")
    parser.add_argument("--timeout", type=float, default=90.0, help="seconds a process may take")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--output", type=Path, default=Path("check_and_time.jsonl"))
    parser.add_argument("--child", choices=("check", "time"), help=argparse.SUPPRESS)
    return parser.parse_args()


def selected(options: argparse.Namespace) -> list[Step]:
    """Return the steps that the names or their beginnings select."""
    names = list(CANDIDATES) if options.sweep else list(STEPS)
    matches = [
        name
        for name in (EVERY if options.steps else names)
        if not options.steps or any(name.startswith(prefix) for prefix in options.steps)
    ]
    return [EVERY[name] for name in matches]


def shapes(options: argparse.Namespace) -> list[Shape]:
    """Return M, N, K of each product to time."""
    requested: list[Shape] = [shape for group in options.shapes for shape in group]
    return list(dict.fromkeys(requested)) or [(size, size, size) for size in options.sizes]


# ---- in the child: the only part that touches the GPU ----


def check_child(options: argparse.Namespace, step: Step) -> None:
    """Check one step, first with the watchdog where it waits; print one JSON line."""
    prepare()
    good, lines = True, []
    for debug in (True, False) if step.architecture == HOPPER else (False,):
        extra = {"WATCHDOG": WATCHDOG_MS} if debug else None
        run = kernel(step, options.element, options.cache, extra)
        good, shape_lines = check(step, run, options.element, not options.small and not debug)
        lines += shape_lines
        if not good:
            break
    emit(
        {
            "kind": "check",
            "step": step.name,
            "element": options.element,
            "good": good,
            "lines": lines,
        }
    )


def time_child(options: argparse.Namespace, steps: list[Step]) -> None:
    """Time steps and the baselines, shape by shape; print a JSON line for each."""
    import torch
    from clocks import Clocks

    from harness.probe.paired import interleaved
    from harness.probe.power import Monitor

    prepare()
    kernels = {step.name: kernel(step, options.element, options.cache) for step in steps}
    monitor, clock = Monitor(), Clocks()
    for shape in shapes(options):
        sets = buffers(options.element, shape)
        runs: dict[str, Any] = {"torch": product}
        algorithm = add_cublaslt(runs, options.element, shape, sets)
        runs |= {name: kernels[name] for name in kernels if EVERY[name].takes(*shape)}
        measured = interleaved(runs, sets, options.rounds, monitor, clock, options.batch_ms)
        library = measured.get("cublaslt")
        for turns in measured.values():
            (rate,) = tflops(flop(shape), [median(turns.us)])
            emit(
                {"kind": "time", "step": turns.name, "element": options.element, "shape": shape}
                | {"batch_ms": options.batch_ms}
                | {"tflops": rate, "of_torch": turns.speed_over(measured["torch"])}
                | {"of_cublaslt": turns.speed_over(library) if library else None}
                | {"us": turns.us, "mhz": turns.mhz, "nvml_mhz": turns.nvml_mhz}
                | {"watt": turns.watt, "cublaslt": algorithm}
            )
        del sets, measured, library, runs
        torch.cuda.empty_cache()


def add_cublaslt(runs: dict[str, Any], element: str, shape: Shape, sets: Any) -> str:
    """Add the fastest algorithm of cuBLASLt to the contenders; return its name, or the error."""
    try:
        runs["cublaslt"], algorithm = cublaslt(element, shape, sets)
    except Exception as error:  # without it torch.mm is the baseline
        return f"not available: {error}"
    return algorithm


def emit(row: dict[str, Any]) -> None:
    """Print a row for the parent."""
    print("ROW " + json.dumps(row), flush=True)


# ---- in the parent: builds, spawns, prints ----


def spawn(
    options: argparse.Namespace, kind: str, element: str, steps: Iterable[Step], limit: float
) -> tuple[list[dict[str, Any]], str]:
    """Run a child process on these steps; return its rows and the failure, "" for success."""
    argv = [sys.executable, str(HERE), "--child", kind, "--element", element, "--sizes"]
    argv += [str(size) for size in options.sizes] + ["--rounds", str(options.rounds)]
    argv += [
        "--batch-ms",
        str(options.batch_ms),
        "--cache",
        str(options.cache),
        "--shapes",
        *("x".join(map(str, shape)) for shape in shapes(options)),
    ]
    argv += ["--small"] * options.small + ["--steps", *(step.name for step in steps)]
    printed, status = ended(argv, limit)
    trouble = f"exit {status}" if status else ""
    if status is None:
        trouble = f"no end after {limit:.0f} s (a deadlock?)"
    rows = [json.loads(line[4:]) for line in printed.splitlines() if line.startswith("ROW ")]
    if trouble:
        others = [line for line in printed.splitlines() if not line.startswith("ROW ")]
        trouble += ": " + " | ".join(others[-4:])[-600:]
    return rows, trouble


def checked(
    options: argparse.Namespace, element: str, steps: list[Step], output: Any
) -> list[Step]:
    """Check steps in processes of their own; print a line each and return the correct steps."""
    right = []

    def check_step(step: Step) -> tuple[Step, list[dict[str, Any]], str, float]:
        begin = time.monotonic()
        rows, trouble = spawn(options, "check", element, [step], options.timeout)
        return step, rows, trouble, time.monotonic() - begin

    with ThreadPoolExecutor(options.jobs) as pool:
        for step, rows, trouble, seconds in pool.map(check_step, steps):
            good = bool(rows) and rows[-1]["good"] and not trouble
            lines = [line for row in rows for line in row["lines"]]
            bad = [line for line in lines if line.startswith("FAIL")]
            verdict = (
                f"right ({len(lines)} checks)" if good else "WRONG: " + " ".join([*bad, trouble])
            )
            print(f"{step.name:34} {element} {seconds:5.1f} s  {verdict}", flush=True)
            if options.verbose:
                print("\n".join("    " + line for line in lines), flush=True)
            for row in rows or [{"kind": "check", "step": step.name, "good": False}]:
                output.write(json.dumps(row | {"trouble": trouble}) + "\n")
            output.flush()
            if good:
                right.append(step)
    return right


def timed(options: argparse.Namespace, element: str, steps: list[Step], output: Any) -> None:
    """Time steps, together unless they are to be isolated, and print a line each."""
    groups = [[step] for step in steps] if options.isolate else [steps]
    contenders = options.rounds * (2 + len(steps)) * len(shapes(options))
    limit = options.timeout + 4e-3 * options.batch_ms * contenders + 10 * len(shapes(options))
    for group in groups:
        rows, trouble = spawn(options, "time", element, group, limit)
        for row in rows:
            output.write(json.dumps(row) + "\n")
        output.flush()
        table(rows)
        summary(rows)
        if trouble:
            print(f"timing {', '.join(step.name for step in group)}: {trouble}", flush=True)


def table(rows: list[dict[str, Any]]) -> None:
    """Print the rates, the fastest of each shape first."""
    for shape in dict.fromkeys(tuple(row["shape"]) for row in rows):
        of_shape = [row for row in rows if tuple(row["shape"]) == shape]
        print(
            f"\n{'x'.join(map(str, shape))} {of_shape[0]['element']},"
            f" cuBLASLt: {of_shape[0]['cublaslt']}"
        )
        print(f"{'':34} {'us':>10} {'TFLOP/s':>8} {'% torch':>8} {'% Lt':>8} {'MHz':>6} {'W':>5}")
        for row in sorted(of_shape, key=lambda row: -row["tflops"]):
            of_lt = row["of_cublaslt"] or float("nan")
            print(
                f"{row['step']:34} {median(row['us']):10.2f} {row['tflops']:8.1f}"
                f" {100 * row['of_torch']:8.1f} {100 * of_lt:8.1f}"
                f" {median(row['mhz']):6.0f} {median(row['watt']):5.0f}",
                flush=True,
            )


def summary(rows: list[dict[str, Any]]) -> None:
    """Print each step's geometric mean over several shapes, and that of the fastest of each."""
    from math import inf

    from dispatch import fastest

    timed_shapes = list(dict.fromkeys(tuple(row["shape"]) for row in rows))
    if len(timed_shapes) < 2:
        return
    print(f"\ngeometric mean over {len(timed_shapes)} shapes, % of the better baseline")
    for name in dict.fromkeys(row["step"] for row in rows):
        ratios = [
            min(row["of_torch"], row["of_cublaslt"] or inf) for row in rows if row["step"] == name
        ]
        if len(ratios) == len(timed_shapes):
            print(f"{name:34} {100 * geometric_mean(ratios):8.1f}", flush=True)
    best = fastest(rows)
    for row in best:
        shape = "x".join(map(str, row["shape"]))
        print(f"  {shape:32} {100 * row['of_better']:8.1f} {row['step']}", flush=True)
    if best:
        print(
            f"{'the fastest of each':34} {100 * geometric_mean(r['of_better'] for r in best):8.1f}"
        )


def parent(options: argparse.Namespace) -> int:
    """Build, check, time."""
    elements = ELEMENTS if options.element == "both" else (options.element,)
    failed = False
    with options.output.open("a", encoding="utf-8") as output:
        for element in elements:
            steps = selected(options)
            built = build_all([(step, element) for step in steps], options.cache)
            for step, result in zip(steps, built, strict=True):
                if isinstance(result, BuildError):
                    print(f"{step.name:34} {element}  NOT BUILT: {result}", flush=True)
            steps = [
                step
                for step, result in zip(steps, built, strict=True)
                if not isinstance(result, BuildError)
            ]
            if not options.no_check:
                guarded = [(step, element) for step in steps if step.architecture == HOPPER]
                build_all(guarded, options.cache, extra={"WATCHDOG": WATCHDOG_MS})
            right = steps if options.no_check else checked(options, element, steps, output)
            failed |= len(right) < len(built)
            if right and not options.no_time:
                timed(options, element, right, output)
    return int(failed)


def main() -> int:
    """Be the parent, or the child that the parent started."""
    options = arguments()
    if not options.child:
        return parent(options)
    steps = [EVERY[name] for name in options.steps]
    if options.child == "check":
        check_child(options, steps[0])
    else:
        time_child(options, steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
