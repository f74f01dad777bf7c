"""Computes claims again from reports' evidence, by code that shares nothing with the harness.

Reads problem.yaml and Parquet with PyYAML and polars alone, by what docs/statistics.md and
docs/glossary.md say of a value. Compares values, the ends of intervals and verdicts with those of
``harness check --json``; prints the differences, the claims that are not computed with their
reasons, and the counts. Ends of one process and of eight or more are drawn at random, and left out.

    python -m benchmarks.recompute            # every report
    python -m benchmarks.recompute --check    # exit code 1 if anything differs
"""

import argparse
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.recompute.claims import LeftOutError, of_claim
from benchmarks.recompute.intervals import verdict

ROOT = Path(__file__).parents[2]
ALIKE = 1e-6
"""Of the value: both sides sum the same numbers, in another order."""


def checked(study: str, report: Path) -> dict[str, dict[str, Any]]:
    """Return what ``harness check`` says of each claim of a report."""
    command = [sys.executable, "-m", "harness", "check", study, "--report", report, "--json"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {each["id"]: each for each in json.loads(said.stdout)}


def committed() -> list[Path]:
    """Return the evidence of the reports that git holds; runs made here may lie beside them."""
    command = ["git", "ls-files", "reports/*/*/evidence/provenance.json"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted((ROOT / name).parent for name in said.stdout.splitlines())


def compared(
    problem: dict[str, Any], claim: dict[str, Any], evidence: Path, theirs: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what is compared (value, end, verdict), how it came out, and why or the two sides."""
    try:
        again = of_claim(problem, claim, evidence)
    except LeftOutError as error:
        yield "value", "left out", str(error)
        return
    if again is None and theirs["value"] is None:
        yield "value", "left out", "not measured"
        return
    if again is None or theirs["value"] is None:
        yield "value", "differ", f"{theirs['value']}, again {again}"
        return
    yield "value", *alike(again.value, theirs["value"])
    if again.ends is None:
        yield "end", "left out", "drawn at random: of one process, or of eight and more"
        return
    for mine, end in zip(again.ends, ("low", "high"), strict=True):
        yield "end", *alike(mine, theirs[end])
    if why := hangs_on_more(claim, theirs):
        yield "verdict", "left out", why
        return
    mine = verdict(again, claim["bound"])
    how = "agree" if mine == theirs["verdict"] else "differ"
    yield "verdict", how, f"{theirs['verdict']}, again {mine}"


def hangs_on_more(claim: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return why a verdict does not follow from the interval and the bound alone."""
    if theirs["verdict"] == "described":
        return "described: no run tests the claim as it stands, or too few processes do"
    if claim.get("kind") == "advice":
        return "advice: its alternatives decide, too"
    return "its times are doubtful, so clocks or GPUs decide, too" if theirs["doubt"] else ""


def alike(mine: float, theirs: float) -> tuple[str, str]:
    """Return whether two numbers agree, and both."""
    agree = math.isclose(mine, theirs, rel_tol=ALIKE, abs_tol=1e-12)
    return "agree" if agree else "differ", f"{theirs:.9g}, again {mine:.9g}"


def main() -> int:
    """Compare every report's claims, print what differs and a count, and return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit code 1 if anything differs")
    check = options.parse_args().check
    counts: Counter[tuple[str, str]] = Counter()
    left_out: dict[tuple[str, str], list[str]] = {}
    for evidence in committed():
        study = evidence.parent.parent.name
        problem = yaml.safe_load((ROOT / "problems" / study / "problem.yaml").read_text())
        results = checked(study, evidence.parent)
        for claim in problem.get("claims", ()):
            name = f"{study.partition('-')[0]} {claim['id']}"
            for what, how, why in compared(problem, claim, evidence, results[claim["id"]]):
                counts[what, how] += 1
                if how == "differ":
                    print(f"{name}: {what}s differ: {why}")
                if how == "left out":
                    left_out.setdefault((what, why), []).append(name)
    for (what, why), names in sorted(left_out.items()):
        print(f"{what} left out, {why}: {', '.join(names)}")
    for what in ("value", "end", "verdict"):
        print(
            f"{what}s:", *(f"{counts[what, how]} {how}" for how in ("agree", "differ", "left out"))
        )
    return int(check and any(how == "differ" for _, how in counts))


if __name__ == "__main__":
    sys.exit(main())
