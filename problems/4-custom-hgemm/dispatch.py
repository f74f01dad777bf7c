"""Choose a shape's configuration: the measured one, else by a model of waves and bytes.

``python dispatch.py sweep.jsonl …`` turns the rows of ``check_and_time.py --sweep``, of one or
several runs, into ``choices.json``, which ``choose`` then prefers to the model.
"""

import argparse
import json
import math
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from step import SMS, Step
from steps import BASELINES, CANDIDATES, FALLBACK

Shape = tuple[int, int, int]
"""M, N, K."""

CHOICES = Path(__file__).parent / "choices.json"
FMA_PER_CYCLE = 2048
"""Dense 16-bit multiply-adds per cycle of a multiprocessor's tensor cores."""
SHARED_BYTES_PER_CYCLE = 128
"""Bytes per cycle that wgmma reads from a multiprocessor's shared memory."""
FILL_BYTES_PER_CYCLE = 56
"""Bytes per cycle that a multiprocessor gets from L2 when all load; fitted, as the next four, to
the cycles of all candidates at the suite's shapes on an H200."""
START_CYCLES, ADD_CYCLES = 3500, 3000
"""Cycles of a launch with its first load and last store; of summing a split K."""
TILE_CYCLES, TURN_CYCLES = 1000, 300
"""Cycles between two tiles; with ping-pong consumers."""


def choose(m: int, n: int, k: int, sms: int = SMS) -> Step:
    """Return the candidate to compute this shape with, or the fallback."""
    able = [step for step in CANDIDATES.values() if step.takes(m, n, k)]
    if not able:
        return FALLBACK
    measured = choices().get((m, n, k))
    if measured in CANDIDATES:
        return CANDIDATES[measured]
    return min(able, key=lambda step: cycles(step, m, n, k, sms))


def cycles(step: Step, m: int, n: int, k: int, sms: int = SMS) -> float:
    """Predict how long a step takes, in cycles of a multiprocessor."""
    tile_m, tile_n, tile_k = step.tile
    down, across = step.cluster
    rows = -(-m // (tile_m * down)) * down  # phantom tiles of a cluster's lower block cost, too
    columns = -(-n // (tile_n * across)) * across
    together = step.blocks_per_sm
    waves = math.ceil(rows * columns * step.split_k / (sms * together))
    steps = -(-k // (tile_k * step.split_k))
    multiply = tile_m * tile_n * tile_k / FMA_PER_CYCLE
    read = tile_m / 64 * (64 + tile_n) * tile_k * 2  # each 64 rows of A meet all columns of B
    shared = read / SHARED_BYTES_PER_CYCLE
    fill = (tile_m / across + tile_n / down) * tile_k * 2 / FILL_BYTES_PER_CYCLE
    once = START_CYCLES + (ADD_CYCLES if step.split_k > 1 else 0)
    change = TURN_CYCLES if step.ping_pong else TILE_CYCLES
    each = steps * together * max(multiply, shared, fill) + change
    return once + waves * each if step.persistent else waves * (once + each)


@cache
def choices() -> dict[Shape, str]:
    """Return the fastest candidate of each measured shape."""
    if not CHOICES.exists():
        return {}
    rows = json.loads(CHOICES.read_text(encoding="utf-8"))
    return {tuple(row["shape"]): row["step"] for row in rows}


def fastest(*runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each shape the fastest candidate, and its rate over the better baseline's.

    ``runs``: rows of interleaved timings. A candidate's rate is the median over the rounds of
    all runs, each against the baseline of its own round.
    """
    from harness.probe.ratios import better, over  # lazy: a user of the kernels needs no harness

    ratios: dict[Shape, dict[str, list[float]]] = {}
    for rows in runs:
        for shape in dict.fromkeys(tuple(row["shape"]) for row in rows):
            of_shape = [row for row in rows if tuple(row["shape"]) == shape]
            us = {row["step"]: row["us"] for row in of_shape}
            if len(us) < len(of_shape):
                raise ValueError(f"{shape} was timed twice in one file; give each run its own")
            baseline = us[better(us, BASELINES)]
            for name in us:
                if name in CANDIDATES:
                    speeds = ratios.setdefault(shape, {}).setdefault(name, [])
                    speeds += over(baseline, us[name])
    chosen = {shape: max(of, key=lambda name: median(of[name])) for shape, of in ratios.items()}
    return [
        {"shape": list(shape), "step": name, "of_better": median(ratios[shape][name])}
        for shape, name in chosen.items()
    ]


class Dispatcher:
    """C = A @ B by the chosen candidate: the entry point for users of the kernels.

    ``pdl``: whether kernels may start while the one before them in the stream ends (programmatic
    dependent launch).
    """

    def __init__(self, element: str, cache_folder: Path, *, pdl: bool = True) -> None:
        self._element, self._cache, self._pdl = element, cache_folder, pdl
        self._kernels: dict[str, Any] = {}
        self._chosen: dict[Shape, Any] = {}

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute ``c = a @ b`` on torch's current stream."""
        shape = (a.shape[0], b.shape[1], a.shape[1])
        kernel = self._chosen.get(shape)
        if kernel is None:
            chosen = choose(*shape)
            step = chosen if self._pdl else replace(chosen, pdl=False)
            kernel = self._chosen[shape] = self._load(step)
        kernel(a, b, c)

    def _load(self, step: Step) -> Any:
        from build import build
        from launch import Kernel

        if step.name not in self._kernels:
            cubin = build(step, self._element, self._cache).cubin
            self._kernels[step.name] = Kernel(step, cubin, self._element)
        return self._kernels[step.name]


def timed(path: Path) -> list[dict[str, Any]]:
    """Return a sweep's rows of times."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row["kind"] == "time"]


def main() -> int:
    """Write ``choices.json`` from sweeps' rows and print how the choices compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweeps", nargs="+", type=Path, help="what --output was given")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # harness.probe, of this checkout
    try:
        rows = fastest(*map(timed, options.sweeps))
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"not read: {error}")
    if not rows:
        parser.error("no configuration was timed there")
    lines = ",\n".join(map(json.dumps, rows))
    CHOICES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    for row in rows:
        shape = "x".join(map(str, row["shape"]))
        print(f"{shape:20} {row['step']:34} {100 * row['of_better']:6.1f} %")
    print(f"geometric mean {100 * geometric_mean(row['of_better'] for row in rows):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
