"""A variant against itself: no verdict may call two runs of the same code different.

    python benchmarks/same_twice.py make PROBLEM CASE FOLDER    a problem with its baseline twice
    harness run FOLDER …                                        as often as wanted, on a GPU
    python benchmarks/same_twice.py judge FOLDER RUN…           the verdicts of each run

`judge` exits with 1 if any claim that one of the two is faster is reproduced, or if the claim that
they are the same within 2 % is refuted.
"""

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from timed import ROOT

from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.extract import door
from harness.problem import manifest
from harness.store import run_folder

METRICS = ("gpu_time", "gpu_time_cold", "wall_time", "latency")
BOUNDS = {"same": {"between": [0.98, 1.02]}, "faster": {"below": 1}, "slower": {"above": 1}}


def main() -> None:
    """Make the problem or judge its runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    for name in ("problem", "case", "folder"):
        making.add_argument(name)
    judging = verbs.add_parser("judge")
    judging.add_argument("folder", type=Path)
    judging.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    if options.verb == "make":
        make(manifest.find(ROOT / "problems", options.problem).folder, options)
    elif not judge(options.folder, options.runs):
        sys.exit("the same was called different")


def make(source: Path, options: argparse.Namespace) -> None:
    """Copy a problem, with its baseline as two variants and nothing else."""
    folder = Path(options.folder)
    shutil.copytree(source, folder)
    path = folder / "problem.yaml"
    known: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    twin = known["variants"][known["baseline"]]
    sample = {name: {"label": name, "unit": "ms", "capture": "timing"} for name in METRICS}
    known |= {
        "baseline": "one",
        "variants": {"one": twin, "other": twin},
        "cases": {options.case: known["cases"][options.case]},
        "captures": {"timing": known["captures"]["timing"] | {"cells": {}}},
        "metrics": {name: labels | {"sample": name} for name, labels in sample.items()},
        "claims": [claim(metric, kind, options.case) for metric in METRICS for kind in BOUNDS],
        "references": {},
    }
    path.write_text(yaml.safe_dump(known, sort_keys=False), encoding="utf-8")
    print(folder)


def claim(metric: str, kind: str, case: str) -> dict[str, Any]:
    """Return a claim on one variant's metric over the other's."""
    return {
        "id": f"{metric.replace('_', '-')}.{kind}",
        "statement": f"{metric}: {kind}",
        "metric": metric,
        "of": {"variant": "one", "case": case},
        "over": {"variant": "other"},
        "bound": BOUNDS[kind],
    }


def judge(folder: Path, runs: list[Path]) -> bool:
    """Print each run's ratios and all verdicts; return whether none was wrong."""
    problem = manifest.load(folder)
    counts: dict[str, Counter[str]] = {}
    for path in runs:
        with TemporaryDirectory() as scratch:
            evidence = door.run(run_folder.Run.open(path), Path(scratch) / "evidence")
        metrics = Metrics(problem, evidence.tables, evidence.origin.gpus)
        ratios = []
        for result in claims.judge(problem, metrics, evidence.origin.run.target.device):
            counts.setdefault(result.claim.id, Counter())[result.verdict] += 1
            measured = result.measured
            if result.claim.id.endswith(".same") and measured.value is not None:
                ends = f"[{measured.low:.4f}, {measured.high:.4f}]"
                ratios.append(f"{result.claim.metric} {measured.value:.4f} {ends} {measured.doubt}")
        print(f"{path.name}: {'; '.join(ratios)}")
    for name, verdicts in counts.items():
        print(f"{name:24} {dict(verdicts)}")
    wrong = [
        name
        for name, verdicts in counts.items()
        if verdicts["refuted" if name.endswith(".same") else "reproduced"]
    ]
    print(f"{len(runs)} runs; wrong: {', '.join(wrong) or 'none'}")
    return not wrong


if __name__ == "__main__":
    main()
