"""A claim's value: a metric at one place, a ratio of two places, or the least gain of an advice."""

from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from benchmarks.recompute.captures import MEASURES, counter
from benchmarks.recompute.evidence import cells, fact, gpus, samples, table
from benchmarks.recompute.intervals import Again, of_processes, of_shapes

Rounds = dict[int, tuple[float, str]]
"""Round to the process's value and its GPU."""


class LeftOutError(Exception):
    """Why a claim is not computed again."""


def of_claim(problem: dict[str, Any], claim: dict[str, Any], evidence: Path) -> Again | None:
    """Return a claim's value, None if it was not measured; LeftOutError if it is not computed."""
    if claim.get("kind") != "advice":
        second = {**claim["of"], **claim["over"]} if claim.get("over") else None
        return ratio(problem, claim["metric"], claim["of"], second, evidence)
    higher = problem["metrics"][claim["metric"]].get("better") == "higher"
    gains = []
    for case in claim["at"]:
        pair = [{"variant": claim[side], "case": case} for side in ("take", "instead_of")]
        first, second = pair if higher else reversed(pair)
        gains.append(ratio(problem, claim["metric"], first, second, evidence))
    known = [gain for gain in gains if gain is not None]
    return min(known, key=lambda gain: gain.value) if len(known) == len(gains) else None


def ratio(
    problem: dict[str, Any],
    metric: str,
    first: dict[str, str],
    second: dict[str, str] | None,
    evidence: Path,
) -> Again | None:
    """Return a metric at one place, or over that at another: the rounds that ran on one GPU."""
    found, kinds = [], []
    for side in filter(None, (first, second)):
        name, _, region = (side.get("metric") or metric).partition("@")
        definition = problem["metrics"][name]
        place = (side["variant"], side["case"])
        if second is None and (rows := members(evidence, definition, region, *place)):
            return of_shapes(rows)
        kinds.append(definition)
        found.append(rounds(evidence, definition, region, *place))
    if not all(found):
        return None
    sampled = any("sample" in kind for kind in kinds)
    if second is None:
        return of_processes([each for each, _ in found[0].values()], sampled=sampled)
    mine, other = found
    common = [at for at in mine if at in other]
    beside = [at for at in common if mine[at][1] == other[at][1]]
    if len(beside) >= 2 and all(map(is_of_a_gpu, kinds)):
        common = beside
    ratios = [mine[at][0] / other[at][0] for at in common]
    return of_processes(ratios, sampled=sampled) if ratios else None


def is_of_a_gpu(metric: dict[str, Any]) -> bool:
    """Return whether GPUs differ in a metric: it is not stated, counted or compared on one."""
    return bool({"sample", "measure"} & set(metric)) and not metric.get("paired")


def members(
    evidence: Path, metric: dict[str, Any], region: str, variant: str, case: str
) -> list[list[float]]:
    """Return each shape's medians, one a process, of a region that is a group of several shapes."""
    if "members" not in metric:
        return []
    by_round = list(cells(evidence, metric, variant, case).values())
    if not by_round:
        return []
    start = metric["members"] + "."
    groups = table(evidence, "facts").filter(
        pl.col("cell") == by_round[0], pl.col("name").str.starts_with(start)
    )
    named = groups.filter(pl.lit(region == "all") | (pl.col("text") == region))["name"]
    every = [
        [samples(evidence, cell, metric["sample"], name.removeprefix(start)) for cell in by_round]
        for name in named
    ]
    rows = [[median(values) for values in row] for row in every if all(row)]
    return rows if len(rows) > 1 else []


def rounds(evidence: Path, metric: dict[str, Any], region: str, variant: str, case: str) -> Rounds:
    """Return what each process gave for a metric: a median of samples, a fact, or of a capture."""
    found = {}
    for number, cell in cells(evidence, metric, variant, case).items():
        value = of_cell(evidence, cell, metric, region)
        if value is not None and (per := metric.get("per")):
            divisor = fact(evidence, cell, per)
            value = value / divisor if divisor else None
        if value is not None:
            found[number] = (value, gpus(evidence).get(cell, ""))
    return found


def of_cell(evidence: Path, cell: str, metric: dict[str, Any], region: str) -> float | None:
    """Return a metric's value in one process."""
    if "sample" in metric:
        values = samples(evidence, cell, metric["sample"], region)
        return median(values) if values else None
    if "fact" in metric:
        return fact(evidence, cell, metric["fact"] + (f".{region}" if region else ""))

    def of(name: str) -> pl.DataFrame:
        return table(evidence, name).filter(pl.col("cell") == cell)

    if "counter" in metric:
        return counter(of, metric["counter"])
    if metric["measure"] not in MEASURES:
        raise LeftOutError(f"{metric['measure']}: the rules of the diagnosis define it")
    return MEASURES[metric["measure"]](of)
