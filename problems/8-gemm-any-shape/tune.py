"""Measure shapes on this GPU and keep the fastest plan of each for the dispatcher.

    python tune.py --shapes 4096x4096x4096 16x14336x4096 --layouts nn nt

The choices go to ``tuned.json``, under the GPU's name. ``hgemm`` takes them before the model's.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from families import LAYOUTS
from ladder import ELEMENTS
from measuring import shape_argument
from multiplier import TUNED, key
from plans import mnk, plans, understood

HERE = Path(__file__).resolve().parent
SECONDS = 20.0
"""Limit for a shape and layout, with the worker's start in it."""


def choices(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return the fastest plan of each problem in the finals, by ``multiplier.key``."""
    found = {}
    for row in rows:
        problem = understood(row["problem"])
        names = {plan.name for plan in plans(problem)} & set(row.get("finals", {}))
        if names:
            best = min(names, key=lambda name: median(row["finals"][name]))
            found[key(problem, row["element"])] = best
    return found


def keep(gpu: str, found: dict[str, str]) -> None:
    """Add choices to those that are kept for a GPU of this name."""
    by_gpu = json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.exists() else {}
    by_gpu[gpu] = by_gpu.get(gpu, {}) | found
    TUNED.write_text(json.dumps(by_gpu, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    """Measure in a process of its own, then keep the choices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", type=shape_argument, required=True, help="MxNxK")
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=["nn"])
    parser.add_argument("--element", choices=ELEMENTS, default="bf16")
    options = parser.parse_args()
    count = len(options.shapes) * len(options.layouts)
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, str(HERE / "measure_shapes.py"), "--out", folder, "--only", "time"]
        argv += ["--limit-s", str(60 + SECONDS * count), "--most", "60"]
        argv += ["--element", options.element, "--shapes"]
        argv += map(mnk, options.shapes)
        argv += ["--layouts", *options.layouts]
        if failed := subprocess.run(argv, check=False).returncode:
            return failed
        times = Path(folder) / "time.jsonl"
        lines = times.read_text(encoding="utf-8").splitlines() if times.exists() else []
    import torch

    found = choices([json.loads(line) for line in lines])
    keep(torch.cuda.get_device_name(), found)
    for problem, name in found.items():
        print(f"{problem:32} {name}")
    return int(len(found) < count)


if __name__ == "__main__":
    sys.exit(main())
