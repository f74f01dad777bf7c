"""Counters of twins: those of each twin's longest launch, side by side."""

from pathlib import Path

import pytest

from harness.problem import manifest
from harness.problem.model import Problem
from tests.support.exams import MANIFEST, ZOO
from tests.support.manifests import written
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, tables

TIME = "gpu__time_duration.sum"
WAVEFRONTS = "memory_l1_wavefronts_shared"


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    cases = "  small: {label: small, params: {finding: leak}}\n"
    text = MANIFEST.format(cases=cases).replace("nsys: {}", "ncu: {}")
    return manifest.load(written(tmp_path, text.replace("[waits, copies, mislabelled]", "[small]")))


def cell(variant: str) -> Row:
    place = {"cell": f"small.{variant}.ncu.r0", "variant": variant, "case": "small"}
    return place | {"capture": "ncu", "round": 0, "status": "ok"}


def counted(variant: str, launch: int, metric: str, value: float, unit: str = "") -> Row:
    known = {"cell": f"small.{variant}.ncu.r0", "launch": launch, "name": "k"}
    return known | {"metric": metric, "value": value, "unit": unit}


def test_each_twin_shows_its_longest_launch_and_gaps(problem: Problem) -> None:
    counters = [
        counted("sick", 0, TIME, 5e3, "ns"),
        counted("sick", 0, "waves", 1.0),
        counted("sick", 1, TIME, 9e3, "ns"),
        counted("sick", 1, "waves", 2.0),
        counted("healthy", 0, TIME, 3e6, "ns"),
        counted("healthy", 0, WAVEFRONTS, 4.0, "sectors"),
    ]
    evidence = tables(cells=[cell("sick"), cell("healthy")], counters=counters)
    assert rows_of(ZOO.twins(page(problem, evidence), "small", "waves", WAVEFRONTS))[1:] == [
        [TIME, "9 µs", "3 ms"],
        ["waves", "2", "–"],
        [WAVEFRONTS, "–", "4 wavefronts"],
    ]


def test_one_twin_alone_is_not_compared(problem: Problem) -> None:
    evidence = tables(cells=[cell("sick")], counters=[counted("sick", 0, TIME, 5.0)])
    assert "not measured" in ZOO.twins(page(problem, evidence), "small", "waves")
