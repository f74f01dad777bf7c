"""The time between tokens at lengths that a warm-up had met, and at those that are new."""

from types import SimpleNamespace

import polars as pl

from harness.report import own_sections
from tests.support.paths import ROOT

SECTIONS = own_sections.load(ROOT / "problems" / "9-serving")
MS = 1_000_000
LABELS = {"generate": "with plans", "short": "as short as the warm-up"}


def page_of(tokens: dict[tuple[str, int], list[int]]) -> SimpleNamespace:
    """Return a page whose requests, by variant and round, have tokens after these gaps in ms."""
    cells, rows = [], []
    for (variant, number), gaps in tokens.items():
        cell = f"at-once.{variant}.load.r{number}"
        at = {"variant": variant, "case": "at-once", "capture": "load", "round": number}
        cells.append({"cell": cell} | at)
        for request in ("first", "second"):
            times = [sum(gaps[:count]) * MS for count in range(len(gaps) + 1)]
            rows += [{"cell": cell, "request": request, "time_ns": time} for time in times[::-1]]
    variants = {name: SimpleNamespace(label=label) for name, label in LABELS.items()}
    tables = {"cells": pl.DataFrame(cells), "load_tokens": pl.DataFrame(rows)}
    return SimpleNamespace(tables=tables, problem=SimpleNamespace(variants=variants))


def test_three_gaps_are_known_and_all_later_ones_new() -> None:
    page = page_of(
        {
            ("generate", 0): [20, 21, 22, 60, 61, 62, 63],
            ("generate", 1): [20, 21, 22, 60, 61, 62, 63],
            ("short", 0): [20, 24, 28],
        }
    )
    told = SECTIONS.known_and_new_lengths(page, ["generate", "short"], "at-once")
    rows = dict(line.strip("| ").split(" | ", 1) for line in told.splitlines()[2:])
    assert rows["with plans"] == "21 ms | 61.5 ms"
    assert rows["as short as the warm-up"] == "24 ms | –"


def test_another_case_s_tokens_are_none_of_these() -> None:
    page = page_of({("generate", 0): [20, 21, 22, 60]})
    assert "not measured" in SECTIONS.known_and_new_lengths(page, ["generate"], "versions").lower()
