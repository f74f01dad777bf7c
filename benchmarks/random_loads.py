"""Random loads: the cause that the diagnosis names first, and the one that gains most.

    python -m benchmarks.random_loads [--loads N] > benchmarks/results/random_loads.json

Each load is drawn from a seed: 60 requests that are there at once, their lengths, the device's and
host's times, rows, blocks of the cache, and whether the engine plans ahead or fills a static batch.
It runs on the engine's scheduler with a device in miniature (tests/support/serving_programs.py), as
it is and with each cause removed: scheduling that takes no time, 200 rows and no static batch,
twice the cache. What it then takes less is the true gain; below 5 % of all three there is no cause.
``prefill-interference`` is left out, as it is not about the time of all steps.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from harness.analysis.diagnose import conclude, serving_view, thresholds
from harness.analysis.diagnose.finding import Finding
from harness.probe.load.workload import Lengths, at_once, fixed
from tests.support.serving_programs import AHEAD, IN_TURN, STATIC, Device, Program

MANY = 200
"""Rows, more than requests."""
CAUSES = ("scheduler-bubble", "batch-underfilled", "kv-cache-pressure")


def drawn(seed: int) -> Program:
    """Return the load of a seed."""
    choose = random.Random(f"load {seed}").choice
    device = Device(
        weights=choose([1500, 6000, 15000]),
        token=choose([5, 15, 30, 60]),
        cached=choose([0.01, 0.04, 0.1]),
        launch=choose([20, 100, 300]),
        plan=choose([20, 50, 100, 1000]),
        planned=choose([0, 1, 5, 40]),
    )
    prompt, output = choose([100, 400, 1500]), choose([50, 150, 400])
    outputs = choose([fixed(output), Lengths((output // 4, 2 * output), (0, 1))])
    largest = (2 * prompt + 2 * output) // 16 + 4
    switches = choose([IN_TURN, AHEAD, IN_TURN, AHEAD, STATIC])
    return Program(
        at_once(),
        (Lengths((prompt // 4, 2 * prompt), (0, 1)), outputs),
        blocks=max(choose([largest, 600, 2000, 10_000]), largest),
        switches=switches | {"most_running": choose([8, 32, 64, 128])},
        device=device,
    )


def took(program: Program) -> tuple[int, tuple[Finding, ...]]:
    """Return the ns of all steps, and what the diagnosis says."""
    with tempfile.TemporaryDirectory() as folder:
        capture = program.capture(Path(folder))
    view = serving_view.views([capture])[0]
    return view.total_ns, conclude.diagnose([capture]).findings


def without(program: Program) -> dict[str, list[Program]]:
    """Return the programs without each cause, in every way that removes it."""
    free = replace(program.device, plan=0, planned=0)
    rows = [program.switches | {"most_running": MANY}]
    if program.switches.get("batching") == "static":
        kept = {"most_running": program.switches["most_running"]}
        rows += [IN_TURN | {"most_running": MANY}, IN_TURN | kept]
    return {
        "scheduler-bubble": [replace(program, device=free)],
        "batch-underfilled": [replace(program, switches=each) for each in rows],
        "kv-cache-pressure": [replace(program, blocks=2 * program.blocks)],
    }


def graded(seed: int) -> dict[str, object]:
    """Return the named causes, their gains and the true ones, and the verdict."""
    program = drawn(seed)
    whole, findings = took(program)
    true = {
        cause: round(max(1 - took(each)[0] / whole for each in programs), 3)
        for cause, programs in without(program).items()
    }
    named = {each.id: each.gain for each in findings if each.id in CAUSES}
    first, real = next(iter(named), ""), {c for c in CAUSES if true[c] >= thresholds.MATTERS}
    if not real:
        verdict = "alarm" if first else "healthy"
    elif first == max(true, key=lambda cause: true[cause]):
        verdict = "right"
    else:
        verdict = "another cause" if first in real else "wrong" if first else "missed"
    return {"seed": seed, "verdict": verdict, "named": named, "true": true}


def main() -> None:
    """Grade loads, and print them as JSON after their counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=int, default=120)
    rows = [graded(seed) for seed in range(parser.parse_args().loads)]
    counts = Counter(str(row["verdict"]) for row in rows)
    lines = ",\n".join(json.dumps(row) for row in rows)
    print(f'{{"counts": {json.dumps(counts)},\n"loads": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
