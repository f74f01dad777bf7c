"""The harness's timer against Triton's do_bench and against CUDA events written by hand.

    python benchmarks/against_do_bench.py [--check]      on a GPU, with torch and triton

Three kernels: bound by memory, by the tensor cores, and one of a few microseconds. The product of
random numbers is shown and not judged: it meets the power cap, and each method leaves the GPU
another share of rest, hence another clock. Medians over three turns of each method, as ratios
within one run.

`--check` exits with 1 if the harness is further than 1 % from the events, or from do_bench where
the kernel is long. do_bench has work queued behind its second event, which here costs about a
microsecond a call: the column "events, queued" writes that by hand, and is what do_bench is to be
held against where the kernel is short.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import median

import torch
import triton

from harness.probe import timing
from harness.probe.l2 import Flush

Step = Callable[[], object]
TURNS, CLOSE, LONG_MS = 3, 0.01, 0.1
QUEUED_MS = 0.0015
CAPPED = ("bf16 4096³",)


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    failed = []
    head = ("kernel", "cold", "events", "events, queued", "do_bench", "warm", "events")
    print(" | ".join(f"{name:>17}" for name in head))
    for name, step in kernels().items():
        turns = [turn(step) for _ in range(TURNS)]
        cold, events, queued, bench, warm, batch = (
            median(column) for column in zip(*turns, strict=True)
        )
        cells = [f"{1e3 * cold:.2f} µs"]
        cells += [f"{1e3 * time:.2f} ({time / cold - 1:+.1%})" for time in (events, queued, bench)]
        cells += [f"{1e3 * warm:.2f} µs", f"{1e3 * batch:.2f} ({batch / warm - 1:+.1%})"]
        print(" | ".join(f"{cell:>17}" for cell in (name, *cells)), flush=True)
        if name in CAPPED:
            continue
        pairs = [("events", events, cold), ("events, warm", batch, warm)]
        if cold > LONG_MS:
            pairs.append(("do_bench", bench, cold))
        failed += [f"{name}: {what}" for what, ms, ours in pairs if abs(ms / ours - 1) > CLOSE]
        if abs(bench - cold) > QUEUED_MS + CLOSE * cold:
            failed.append(f"{name}: do_bench differs by more than what its queue costs")
    if options.check and failed:
        sys.exit(f"further apart than 1 %: {'; '.join(failed)}")


def kernels() -> dict[str, Step]:
    """Return name to step."""
    big = torch.randn(256 << 20, device="cuda")
    copy = torch.empty_like(big)
    a, b = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    zero, product = torch.zeros_like(a), torch.empty_like(a)
    small = torch.randn(1 << 20, device="cuda")
    added = torch.empty_like(small)
    return {
        "copy of 1 GiB": lambda: copy.copy_(big),
        "bf16 4096³, zeros": lambda: torch.mm(zero, zero, out=product),
        "bf16 4096³": lambda: torch.mm(a, b, out=product),
        "add of 4 MiB": lambda: torch.add(small, 1.0, out=added),
    }


def turn(step: Step) -> tuple[float, ...]:
    """Return ms of each method, one after the other."""
    ours = {
        series.metric: median(series.values[series.warmup :])
        for series in timing.series(step, {"steps": 10}, "cuda")
    }
    return (
        ours["gpu_time_cold"],
        alone(step),
        queued(step),
        triton.testing.do_bench(step, warmup=50, rep=200, return_mode="median"),
        ours["gpu_time"],
        batch(step),
    )


def alone(step: Step, count: int = 100) -> float:
    """Flush, event, step, event, wait: nothing is queued behind."""
    flush, times = Flush(), []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush()
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    flush.close()
    return median(times)


def queued(step: Step, count: int = 100) -> float:
    """Return the same without waiting, as do_bench does it."""
    flush, pairs = Flush(), []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush()
        begin.record()
        step()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    flush.close()
    return median(begin.elapsed_time(end) for begin, end in pairs)


def batch(step: Step) -> float:
    """Two events around steps enough for two milliseconds, back to back."""
    once = max(triton.testing.do_bench(step, warmup=5, rep=10), 1e-3)
    steps, times = max(10, min(200, int(2 / once))), []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(4_000_000)
        begin.record()
        for _ in range(steps):
            step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / steps)
    return median(times)


if __name__ == "__main__":
    main()
