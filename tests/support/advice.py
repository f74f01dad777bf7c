"""A study with advice, and evidence whose true times are known."""

import random
from collections.abc import Mapping

from harness.evidence.tables import Tables
from harness.problem.model import Advice, Case, Problem, Variant
from tests.support.small_evidence import Row, cell, tables

Times = Mapping[str, Mapping[str, float]]
"""The true wall time in ms, by case and variant."""

CLEAR: Times = {
    "low": {"slow": 3.0, "fast": 2.0, "other": 2.5},
    "high": {"slow": 4.0, "fast": 2.0, "other": 2.5},
}


def advising(example: Problem) -> Problem:
    """Return a study that advises fast over slow at both ends of a range, beside other."""
    advice = Advice.model_validate(
        {"id": "take-fast", "kind": "advice", "statement": "Take `fast`.", "metric": "time"}
        | {"take": "fast", "instead_of": "slow", "at": ["low", "high"], "holds_for": "all sizes"}
    )
    other = Variant.model_validate({"label": "Other", "environment": "plain"})
    labels = {name: f"a stack, size {name}" for name in ("low", "high")}
    cases = {name: Case.model_validate({"label": label}) for name, label in labels.items()}
    variants = {**example.variants, "other": other}
    return example.model_copy(update={"variants": variants, "cases": cases, "claims": [advice]})


def changed(study: Problem, **update: object) -> Problem:
    """Return the study with its one claim changed."""
    (advice,) = study.claims
    return study.model_copy(update={"claims": [advice.model_copy(update=update)]})


def timed(
    times: Times, spread: float = 0.001, rounds: int = 5, seed: int = 3, **filled: list[Row]
) -> Tables:
    """Return samples about the true times; processes and samples vary by ``spread``."""
    noise = random.Random(seed)
    cells, rows = [], []
    for case, variants in times.items():
        for variant, true in variants.items():
            for number in range(rounds):
                name = f"{case}.{variant}.timing.r{number}"
                cells.append(cell(variant, number, case=case) | {"cell": name})
                process = true * noise.gauss(1, spread)
                rows += [
                    {"cell": name, "metric": "wall_time", "index": index, "mark": ""}
                    | {"value": process * noise.gauss(1, spread)}
                    for index in range(5)
                ]
    return tables(cells=cells, samples=rows, **filled)
