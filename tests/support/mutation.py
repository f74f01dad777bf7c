"""The mutation score: which share of mutants of some modules the tests of their rooms refuse.

    python -m tests.support.mutation [--sample N] [--seed S] [--results FILE] [AREA…]

Makes N mutants of each area (all if N is 0), prints those that no test refuses, and ends with 1 if
an area's score is below 80 %. Takes about three seconds of a core a mutant.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.mutants import Mutant, mutants
from tests.support.paths import ROOT
from tests.support.shadow import Shadow

WANTED = 0.8
AREAS: dict[str, dict[str, tuple[str, ...]]] = {
    "readers": {
        f"harness/captures/{name}/*.py": (f"tests/captures/{name}", "tests/extract")
        for name in ("memory", "ncu", "nsys", "torch")
    }
    | {  # SQLite files are read in nsys's tests
        "harness/captures/formats/*.py": (
            "tests/captures/formats",
            "tests/captures/nsys",
            "tests/extract",
        )
    },
    "claims": {
        "harness/analysis/claims.py": ("tests/analysis/test_claims.py", "tests/cli/test_check.py"),
        "harness/analysis/advice.py": ("tests/analysis/test_advice.py",),
    },
    "verdict": {
        "harness/analysis/verdict.py": (
            "tests/analysis/test_verdict.py",
            "tests/analysis/test_claims.py",
        )
    },
    "files": {
        "harness/ground/files.py": ("tests/test_files_at_their_limits.py", "tests/test_files.py")
    },
    "process": {
        f"harness/{name}.py": ("tests/test_process.py", "tests/test_warden.py")
        for name in ("process", "program", "warden")
    },
}
"""The files of each area, and the tests that are to refuse their mutants, the quickest first."""


def chosen(area: str, sample: int, seed: int) -> list[tuple[str, Mutant, Sequence[str]]]:
    """Return mutants of an area: file, mutant and tests."""
    every: list[tuple[str, Mutant, Sequence[str]]] = [
        (str(path.relative_to(ROOT)), mutant, tests)
        for pattern, tests in AREAS[area].items()
        for path in sorted(ROOT.glob(pattern))
        for mutant in mutants(path.read_text(encoding="utf-8"))
    ]
    if not sample or sample >= len(every):
        return every
    return random.Random(f"{seed} {area}").sample(every, sample)


def score(shadow: Shadow, area: str, sample: int, seed: int) -> dict[str, float]:
    """Return how many mutants of an area were tried, and how many the tests refused."""
    quickest: dict[Sequence[str], float] = {}
    killed = 0
    tried = chosen(area, sample, seed)
    for file, mutant, tests in tried:
        if tests not in quickest:
            began = time.monotonic()
            status, told = shadow.run(tests, deadline_s=600)
            if status != "passed":
                raise SystemExit(f"{area}: without a mutant {status}: {told}")
            quickest[tests] = time.monotonic() - began
        with shadow.planted(file, mutant.text):
            status, _ = shadow.run(tests, deadline_s=30 + 5 * quickest[tests])
        killed += status != "passed"
        if status == "passed":
            print(f"survived: {file}:{mutant.line}: {mutant.what}", flush=True)
    print(f"{area}: {killed} of {len(tried)}", flush=True)
    return {"mutants": len(tried), "killed": killed}


def main() -> int:
    """Score the areas that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--results", type=Path)
    parser.add_argument("areas", nargs="*", default=list(AREAS))
    asked = parser.parse_args()
    with Shadow(Path(tempfile.mkdtemp())) as shadow:
        scores = {area: score(shadow, area, asked.sample, asked.seed) for area in asked.areas}
    if asked.results:
        asked.results.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    return int(any(each["killed"] < WANTED * each["mutants"] for each in scores.values()))


if __name__ == "__main__":
    sys.exit(main())
