"""CPU time of `harness inspect` on a large memory snapshot, beside `pickle.load` of it.

    python benchmarks/memory_snapshot.py [--events N] [--check]

The snapshot has the shape of torch's own: steps that allocate and free, segments with blocks, and a
list of 20 frames an event, made of dictionaries that all lists share. `pickle.load` makes Python
objects and nothing more; inspect reads the file without running it, follows each block, segment and
pool through the history, and prints all tables. Both are fresh processes that read from the page
cache. `--check` exits with 1 if inspect takes over three times as long.
"""

import argparse
import pickle
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from timed import ROOT

FRAMES, STACKS, DEPTH = 400, 300, 20
SEGMENT, BLOCK = 1 << 28, 1 << 20
MOST_TIMES = 3.0
RUNS = 3

LOAD = "import pickle, sys; assert pickle.load(open(sys.argv[1], 'rb'))"


def snapshot(events: int) -> dict[str, Any]:
    """Return a snapshot with a history of about so many events."""
    draw = random.Random(0)
    frames = [
        {"filename": f"/w/m{n % 40}.py", "line": n, "name": f"f{n % 90}"} for n in range(FRAMES)
    ]
    stacks = [draw.choices(frames, k=DEPTH) for _ in range(STACKS)]
    segments, history, clock = [], [], 0

    def event(action: str, address: int, size: int) -> None:
        nonlocal clock
        clock += 3
        fields = {"action": action, "addr": address, "size": size, "stream": 0}
        time_us = 1_795_000_000_000_000 + clock
        history.append(fields | {"time_us": time_us, "frames": list(draw.choice(stacks))})

    for number in range(8):
        address = 0x7F0000000000 + number * SEGMENT
        segment = {"device": 0, "address": address, "total_size": SEGMENT, "allocated_size": 0}
        more = {"active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "large"}
        block = {"size": SEGMENT, "requested_size": 0, "address": address, "state": "inactive"}
        pool: dict[str, Any] = {"segment_pool_id": (0, 0), "is_expandable": False}
        segments.append(segment | more | pool | {"blocks": [block | {"frames": []}], "frames": []})
        event("segment_alloc", address, SEGMENT)
    while len(history) < events:
        step = [0x7F0000000000 + BLOCK * slot for slot in draw.sample(range(2048), 600)]
        for address in step:
            event("alloc", address, draw.randrange(512, BLOCK))
        for place, address in enumerate(step):
            size = history[place - len(step) - 2 * place]["size"]
            event("free_requested", address, size)
            event("free_completed", address, size)
    return {"segments": segments, "device_traces": [history]}


def cpu_s(argv: list[str]) -> float:
    """Return the least CPU time in seconds of fresh processes."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    """Build the input, time both, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pickle"
        with path.open("wb") as file:
            pickle.dump(snapshot(options.events), file)
        size_mb = path.stat().st_size / 1e6
        loaded = cpu_s([sys.executable, "-c", LOAD, str(path)])
        ours = cpu_s([sys.executable, "-m", "harness", "inspect", "--json", str(path)])
    print(
        f"{options.events:,} events, {size_mb:.0f} MB: pickle.load {loaded:.2f} s, inspect "
        f"{ours:.2f} s of CPU time, {ours / loaded:.2f} times pickle.load"
    )
    if options.check and ours > MOST_TIMES * loaded:
        sys.exit(f"inspect takes more than {MOST_TIMES} times pickle.load")


if __name__ == "__main__":
    main()
