"""Computes claims' values again from reports' evidence, by code that shares nothing with them.

Reads problem.yaml and Parquet with PyYAML and polars alone: the median of a process, the geometric
mean of processes, ratios within a round (docs/statistics.md). Compares them with what
``harness check --json`` says of the same report. Claims on samples and facts are computed again;
those on measures of captures and on means over shapes are counted and left.

    python benchmarks/recompute.py            # every report
    python benchmarks/recompute.py --check    # exit code 1 if a value differs
"""

import argparse
import json
import math
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import yaml

ROOT = Path(__file__).parents[1]
ALIKE = 1e-6
"""Of the value: both sides sum the same numbers, in another order."""
WARM_UP = "warm-up"
Rounds = dict[int, tuple[float, str]]
"""Round to the process's value and its GPU."""


def rounds(evidence: Path, metric: dict[str, Any], region: str, variant: str, case: str) -> Rounds:
    """Return what each process gave for a metric: its median, or the fact that it stated."""
    cells = table(evidence / "cells.parquet").filter(
        pl.col("status") == "ok", pl.col("variant") == variant, pl.col("case") == case
    )
    cells = cells.filter(pl.col("capture") == metric.get("capture", "timing"))
    if start := metric.get("start"):
        cells = cells.filter((pl.col("round") == 0) == (start == "first"))
    places = gpus(evidence)
    if "sample" in metric:
        rows = table(evidence / "samples.parquet").filter(
            pl.col("metric") == metric["sample"], pl.col("mark").fill_null("") != WARM_UP
        )
        if region:
            rows = rows.filter(pl.col("region") == region)
        values = rows.group_by("cell").agg(pl.col("value").median())
    else:
        name = metric["fact"] + (f".{region}" if region else "")
        rows = table(evidence / "facts.parquet").filter(pl.col("name") == name)
        values = rows.select("cell", "value")
    if per := metric.get("per"):
        facts = table(evidence / "facts.parquet").filter(pl.col("name") == per)
        divisors = facts.select("cell", divisor="value")
        values = values.join(divisors, on="cell")
        values = values.with_columns(pl.col("value") / pl.col("divisor"))
    joined = cells.join(values, on="cell").drop_nulls("value")
    return {row["round"]: (row["value"], places.get(row["cell"], "")) for row in joined.to_dicts()}


@cache
def table(path: Path) -> pl.DataFrame:
    """Return a table of evidence."""
    return pl.read_parquet(path)


@cache
def gpus(evidence: Path) -> dict[str, str]:
    """Return the GPU that each cell ran on, where the provenance says it."""
    told = json.loads((evidence / "provenance.json").read_text())
    return {cell["cell"]: str(cell.get("gpu") or "") for cell in told["cells"]}


def mean(values: list[float]) -> float:
    """Return the geometric mean; the arithmetic one where a value is not above zero."""
    if all(value > 0 for value in values):
        return math.exp(sum(map(math.log, values)) / len(values))
    return sum(values) / len(values)


def value(problem: dict[str, Any], claim: dict[str, Any], evidence: Path) -> float | str | None:
    """Return a claim's value, None if it was not measured, or why it is not computed again."""
    if claim.get("kind") != "advice":
        second = {**claim["of"], **claim["over"]} if claim.get("over") else None
        return ratio(problem, claim["metric"], claim["of"], second, evidence)
    higher = problem["metrics"][claim["metric"]].get("better") == "higher"
    gains = []
    for case in claim["at"]:
        pair = [{"variant": claim[side], "case": case} for side in ("take", "instead_of")]
        first, second = pair if higher else reversed(pair)
        gains.append(ratio(problem, claim["metric"], first, second, evidence))
    if words := [each for each in gains if isinstance(each, str)]:
        return words[0]
    known = [each for each in gains if isinstance(each, float)]
    return min(known) if len(known) == len(gains) else None


def ratio(
    problem: dict[str, Any],
    metric: str,
    first: dict[str, str],
    second: dict[str, str] | None,
    evidence: Path,
) -> float | str | None:
    """Return a metric at one place, or over that at another: the rounds that ran on one GPU."""
    found = []
    for side in filter(None, (first, second)):
        name, _, region = (side.get("metric") or metric).partition("@")
        definition = problem["metrics"][name]
        if not {"sample", "fact"} & set(definition):
            return "measures of captures"
        if "members" in definition:
            return "means over shapes"
        found.append(rounds(evidence, definition, region, side["variant"], side["case"]))
    if not all(found):
        return None
    if second is None:
        return mean([each for each, _ in found[0].values()])
    mine, other = found
    common = [at for at in mine if at in other and mine[at][1] == other[at][1]]
    return mean([mine[at][0] / other[at][0] for at in common]) if common else None


def main() -> int:
    """Compare every report's claims, print what differs and a count, and return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit code 1 if a value differs")
    check = options.parse_args().check
    counts: Counter[str] = Counter()
    for evidence in sorted(ROOT.glob("reports/*/*/evidence")):
        report = evidence.parent
        study = report.parent.name
        problem = yaml.safe_load((ROOT / "problems" / study / "problem.yaml").read_text())
        command = [sys.executable, "-m", "harness", "check", study, "--report", report, "--json"]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        results = {each["id"]: each["value"] for each in json.loads(said.stdout)}
        for claim in problem.get("claims", ()):
            again, theirs = value(problem, claim, evidence), results.get(claim["id"])
            if isinstance(again, str):
                counts[f"left: {again}"] += 1
            elif again is None or theirs is None:
                counts["not measured"] += 1
            elif math.isclose(again, theirs, rel_tol=ALIKE, abs_tol=1e-12):
                counts["agree"] += 1
            else:
                counts["differ"] += 1
                print(f"{report.relative_to(ROOT)}: {claim['id']}: {theirs:.6g}, again {again:.6g}")
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return int(check and bool(counts["differ"]))


if __name__ == "__main__":
    sys.exit(main())
