"""Check every way to sum, without the harness, and take a first look at its time.

    python check_all.py              # two GPUs: link, steps of two layers, sums of several sizes
    python check_all.py --layers 8 --batch 64
    python check_all.py --cpu        # gloo on a small stack: how it is split

Times are a first look, not a measurement.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
PLACES = (str(HERE.parent), str(HERE.parents[1]))  # of workloads/ and of harness/
sys.path += PLACES

import torch  # noqa: E402 - after the places
from checking import check  # noqa: E402
from in_turn import timed  # noqa: E402
from pair import Pair  # noqa: E402
from ranks import Second  # noqa: E402
from sweep import KINDS  # noqa: E402

WAYS = {"nccl": False, "nccl-graph": True, "overlap": True}
PEER_WAYS = ("one-shot", "two-shot", "packed", "fused")
SIZES_KB = (1, 16, 1024)
STEPS, TIMES = 10, 5


class Printed:
    """Prints what a cell would keep."""

    def fact(self, name: str, value: float, unit: str = "") -> None:
        """Print a fact."""
        print(f"  {name}: {value:.4g} {unit}".rstrip())


def main() -> None:
    """Check the ways that the device has, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="gloo on a small stack")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    model, context = ("llama-tiny", 16) if options.cpu else ("llama-3-70b", 1024)
    params = {"model": model, "layers": options.layers, "batch": options.batch, "context": context}
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        pair = Pair(Second(params, str(Path(folder) / "meeting")), "cpu" if options.cpu else "cuda")
        if not options.cpu:
            print_link(pair.both("measure_link"))
        pair.both("load")
        for name in [*WAYS, *([] if options.cpu else PEER_WAYS)]:
            check_way(pair, name)
        if not options.cpu:
            print("without exchange:", look(pair, "alone", "alone"))
            for kb in SIZES_KB:
                check_sums(pair, kb << 10)
        pair.end()
        pair.join()


def print_link(link: dict[str, list[float]]) -> None:
    """Print the medians of what the link reaches."""
    print({name: round(median(values), 3) for name, values in link.items()})


def check_way(pair: Pair, name: str) -> None:
    """Check the step of one way, and time it where there is a GPU."""
    print(name, flush=True)
    kind = "nccl" if name in ("nccl", "nccl-graph") else name
    pair.both("begin", name, kind, WAYS.get(name, True))
    began = time.monotonic()
    check(Printed(), pair, name)
    print(f"  checked in {time.monotonic() - began:.1f} s", flush=True)
    if pair.first.device == "cuda":
        print("  ", look(pair, name, kind), flush=True)


def look(pair: Pair, name: str, kind: str) -> str:
    """Return the GPU time of a step in words; a way that is not begun is begun as a graph."""
    if name == "alone":
        pair.both("begin", name, kind, True)
    times = [timed(lambda: pair.go("step", name), STEPS) / STEPS for _ in range(TIMES)]
    return f"{1e3 * median(times):.1f} µs a step"


def check_sums(pair: Pair, size: int) -> None:
    """Check the all-reduces of a size, and print the time of each."""
    pair.both("sweep_begin", size)

    def batch(kind: str) -> Any:
        return lambda: pair.go("sweep_step", size, kind)

    us = {
        kind: 1e3 * timed(batch(kind), TIMES) / (TIMES * pair.first.batched(size, kind))
        for kind in KINDS
    }
    print(size, "bytes:", {kind: round(value, 2) for kind, value in us.items()}, "µs", flush=True)


if __name__ == "__main__":
    main()
